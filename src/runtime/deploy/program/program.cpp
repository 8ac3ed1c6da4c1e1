#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torchport/checkpoint.h>
#include <torchport/program.h>

#include "runtime/checkpoint/archive.h"
#include "runtime/checkpoint/formats.h"
#include "runtime/deploy/program/body.h"
#include "runtime/deploy/program/check_inputs.h"
#include "runtime/deploy/program/graph.h"

namespace torchport {

namespace {

constexpr std::uint64_t kMostJson = std::uint64_t{1} << 30U;

[[noreturn]] void cannot_run(const std::string& path, std::string_view why) {
  throw std::runtime_error("cannot run " + path + ": " + std::string(why));
}

// The JSON of the archive's first program.
std::string text_of(const std::string& path) {
  const auto file = checkpoint::MappedFile::open(path);
  if (!file) cannot_run(path, file.error().message);
  const auto archive = checkpoint::Archive::open(path, file->bytes());
  if (!archive) cannot_run(path, archive.error().message);
  for (const auto& entry : archive->entries()) {
    if (entry.name.find("/models/") == std::string::npos || !entry.name.ends_with(".json"))
      continue;
    auto text = archive->read(entry, kMostJson);
    if (!text) cannot_run(path, text.error().message);
    return std::move(*text);
  }
  cannot_run(path,
             "it has no program of torch.export (models/*.json): export it again with torch 2.9 or "
             "newer");
}

void add_tensors(const c10::IValue& value, std::vector<at::Tensor>& into) {
  if (value.isTensor()) return into.push_back(value.toTensor());
  if (!value.isList()) return;
  for (const c10::IValue& item : value.toListRef()) add_tensors(item, into);
}

}  // namespace

// Everything that a program needs to run; it does not change.
class Program::Loaded {
 public:
  Loaded(const std::string& path, c10::Device device)
      : program_(read(path)),
        body_(make_body(path, device)),
        inputs_(bound_weights(path, device)) {}

  [[nodiscard]] std::size_t count() const {
    std::size_t count = 0;
    for (const auto& input : program_.inputs) count += input.is_tensor ? 1U : 0U;
    return count;
  }

  [[nodiscard]] std::vector<at::Tensor> run(const std::vector<at::Tensor>& given) const {
    deploy::check_inputs(program_, given);
    std::vector<c10::IValue> inputs = inputs_;
    auto next = given.begin();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (program_.inputs[i].is_tensor) inputs[i] = *next++;
    }
    const c10::InferenceMode no_gradients;
    const auto outputs = body_.run(std::move(inputs));
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (program_.is_result[i]) add_tensors(outputs[i], tensors);
    }
    return tensors;
  }

 private:
  static deploy::ProgramGraph read(const std::string& path) {
    const std::string text = text_of(path);
    try {
      return deploy::read_graph(text);
    } catch (const c10::Error& error) {  // a device that torch does not know
      cannot_run(path, error.what_without_backtrace());
    } catch (const std::runtime_error& error) {
      cannot_run(path, error.what());
    }
  }

  [[nodiscard]] deploy::Body make_body(const std::string& path, c10::Device device) const {
    try {
      return {program_.graph, device};
    } catch (const std::runtime_error& error) {
      cannot_run(path, std::string("it needs Python: ") + error.what());
    }
  }

  [[nodiscard]] std::vector<c10::IValue> bound_weights(const std::string& path,
                                                       c10::Device device) const {
    LoadOptions options;
    options.device = device;
    std::unordered_map<std::string, at::Tensor> weights;
    for (NamedTensor& named : load_tensors(path, options).tensors)
      weights.emplace(std::move(named.name), std::move(named.tensor));
    std::vector<c10::IValue> inputs;
    for (const auto& input : program_.inputs) {
      const auto found = weights.find(input.weight);
      if (found == weights.end() && !input.weight.empty())
        cannot_run(path, "the weight " + input.weight + " is missing");
      inputs.push_back(found == weights.end() ? c10::IValue() : c10::IValue(found->second));
      // at::matmul of a weight with gradients is another kernel, also where none are computed.
      if (found != weights.end() && input.requires_grad) found->second.set_requires_grad(true);
    }
    return inputs;
  }

  deploy::ProgramGraph program_;
  deploy::Body body_;
  std::vector<c10::IValue> inputs_;  // with the weights; None for what a caller gives
};

Program::Program(const std::string& path, c10::Device device)
    : loaded_(std::make_unique<const Loaded>(path, device)) {}
Program::~Program() = default;
Program::Program(Program&& other) noexcept = default;
Program& Program::operator=(Program&& other) noexcept = default;

std::vector<at::Tensor> Program::run(const std::vector<at::Tensor>& inputs) const {
  return loaded_->run(inputs);
}

std::size_t Program::inputs() const {
  return loaded_->count();
}

}  // namespace torchport
