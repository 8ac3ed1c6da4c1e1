#include <cctype>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <torchport/session.h>

#include "runtime/deploy/content.h"
#include "runtime/deploy/engines/engine.h"

namespace torchport {

namespace {

std::string text_of(const TensorSpec& spec) {
  std::ostringstream text;
  text << dtype_name(spec.dtype) << " [";
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    text << (i == 0 ? "" : ", ");
    if (spec.shape[i].axis.empty())
      text << spec.shape[i].size;
    else
      text << spec.shape[i].axis;
  }
  text << "]";
  return text.str();
}

std::string text_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << dtype_name(tensor.scalar_type()) << " " << tensor.sizes() << " on " << tensor.device();
  return text.str();
}

// Compares one call's tensors with their specifications. An axis has one size in all of them.
class Check {
 public:
  explicit Check(const Contract& contract) : contract_(contract) {}

  // Why `given` violates `spec`; empty if it does not.
  std::string operator()(const TensorSpec& spec, const at::Tensor& given, c10::Device device) {
    std::string both = "expected " + text_of(spec) + " on " + device.str() + ", got " +
                       (given.defined() ? text_of(given) : "nothing");
    if (!given.defined()) return both;
    if (given.scalar_type() != spec.dtype || given.device() != device) return both;
    if (given.dim() != static_cast<std::int64_t>(spec.shape.size())) return both;
    for (std::size_t i = 0; i < spec.shape.size(); ++i) {
      const auto size = given.size(static_cast<std::int64_t>(i));
      if (spec.shape[i].axis.empty()) {
        if (size != spec.shape[i].size) return both;
      } else if (const std::string wrong = axis(spec, spec.shape[i].axis, size); !wrong.empty()) {
        return both.append(": ").append(wrong);
      }
    }
    return {};
  }

 private:
  std::string axis(const TensorSpec& spec, const std::string& name, std::int64_t size) {
    const auto bounds = contract_.axes.find(name);
    if (bounds == contract_.axes.end()) return {};  // a formula
    const auto [seen, fresh] = sizes_.try_emplace(name, size, spec.name);
    if (seen->second.first != size) {
      return name + " is " + std::to_string(size) + ", and " + std::to_string(seen->second.first) +
             " in " + seen->second.second;
    }
    const AxisBounds& allowed = bounds->second;
    if (size >= allowed.minimum && (!allowed.maximum || size <= *allowed.maximum)) return {};
    return name + " must be " + std::to_string(allowed.minimum) + " to " +
           (allowed.maximum ? std::to_string(*allowed.maximum) : "any number");
  }

  const Contract& contract_;
  std::map<std::string, std::pair<std::int64_t, std::string>> sizes_;
};

bool is_finite(const at::Tensor& tensor) {
  return !(tensor.is_floating_point() || tensor.is_complex()) ||
         at::isfinite(tensor).all().item<bool>();
}

c10::Device device_for(const Contract& contract, const SessionOptions& options) {
  if (options.device) return *options.device;
  const std::string& kind = contract.host.device;
  return c10::Device(kind.empty() || kind == "any" ? "cpu" : kind);
}

// Turns "cuda" into cuda:0, because tensors always have an index.
c10::Device with_index(c10::Device device) {
  return device.is_cpu() || device.has_index() ? device : c10::Device(device.type(), 0);
}

// What runs artefacts of this format. Throws std::runtime_error where nothing here does.
const deploy::EngineFormat& engine_of(const std::string& path, const Contract& contract) {
  if (const deploy::EngineFormat* format = deploy::find_engine(contract.format)) return *format;
  throw std::runtime_error("cannot run " + path + ": it is of format " + contract.format +
                           ", which this torchport does not know; export it with --to " +
                           deploy::engine_formats());
}

}  // namespace

Session::Session(const std::string& path, const SessionOptions& options)
    : contract_(read_contract(path)),
      options_(options),
      device_(with_index(device_for(contract_, options))) {
  const deploy::EngineFormat& format = engine_of(path, contract_);
  auto unmet = unmet_needs(contract_, device_);
  if (std::string refused = format.refuses == nullptr ? std::string() : format.refuses(device_);
      !refused.empty())
    unmet.push_back(std::move(refused));
  if (!unmet.empty()) {
    std::string message = "cannot run " + path + " here:";
    for (const std::string& reason : unmet) message += "\n  " + reason;
    throw std::runtime_error(message);
  }
  if (const std::string changed = deploy::changed_content(path, contract_.json); !changed.empty())
    throw std::runtime_error("cannot run " + path + ": " + changed);
  engine_ = format.open(path, contract_, device_, options_);
}

Session::~Session() = default;
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;

std::string Session::runtime() const {
  return engine_->runtime();
}

std::vector<at::Tensor> Session::run(const std::vector<at::Tensor>& inputs) {
  if (inputs.size() != contract_.inputs.size()) {
    throw std::invalid_argument(std::to_string(inputs.size()) + " inputs were given, " +
                                std::to_string(contract_.inputs.size()) + " expected");
  }
  Check check(contract_);
  std::vector<at::Tensor> plain;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = contract_.inputs[i];
    const std::string wrong = check(spec, inputs[i], device_);
    if (!wrong.empty()) throw std::invalid_argument("input " + spec.name + ": " + wrong);
    if (options_.check_finite && !is_finite(inputs[i]))
      throw std::invalid_argument("input " + spec.name + " has NaN or Inf");
    plain.push_back(inputs[i].contiguous());
  }
  std::vector<at::Tensor> outputs = engine_->run(plain);
  if (outputs.size() != contract_.outputs.size()) {
    throw std::runtime_error("the artefact gave " + std::to_string(outputs.size()) +
                             " outputs, but its contract says " +
                             std::to_string(contract_.outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = contract_.outputs[i];
    const std::string wrong = check(spec, outputs[i], device_);
    if (!wrong.empty()) throw std::runtime_error("output " + spec.name + ": " + wrong);
    if (options_.check_finite && !is_finite(outputs[i]))
      throw std::runtime_error("output " + spec.name + " has NaN or Inf");
  }
  return outputs;
}

}  // namespace torchport
