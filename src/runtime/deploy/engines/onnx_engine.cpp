// Runs ONNX models, on the CPU.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <ATen/ops/from_blob.h>

#include "runtime/deploy/engines/engine.h"
#include "runtime/deploy/engines/onnx_runtime.h"

namespace torchport::deploy {

namespace {

constexpr std::array<std::pair<c10::ScalarType, ort::Element>, 13> kElements{{
    {c10::ScalarType::Float, ort::Element::kFloat},
    {c10::ScalarType::Double, ort::Element::kDouble},
    {c10::ScalarType::Half, ort::Element::kFloat16},
    {c10::ScalarType::BFloat16, ort::Element::kBFloat16},
    {c10::ScalarType::Long, ort::Element::kInt64},
    {c10::ScalarType::Int, ort::Element::kInt32},
    {c10::ScalarType::Short, ort::Element::kInt16},
    {c10::ScalarType::Char, ort::Element::kInt8},
    {c10::ScalarType::Byte, ort::Element::kUInt8},
    {c10::ScalarType::UInt16, ort::Element::kUInt16},
    {c10::ScalarType::UInt32, ort::Element::kUInt32},
    {c10::ScalarType::UInt64, ort::Element::kUInt64},
    {c10::ScalarType::Bool, ort::Element::kBool},
}};

ort::Element element_of(c10::ScalarType dtype) {
  for (const auto& [type, element] : kElements) {
    if (type == dtype) return element;
  }
  throw std::runtime_error("ONNX Runtime does not support tensors of dtype " + dtype_name(dtype));
}

c10::ScalarType dtype_of(ort::Element element) {
  for (const auto& [type, known] : kElements) {
    if (known == element) return type;
  }
  throw std::runtime_error("ONNX Runtime gave a tensor whose type torch does not have");
}

class OnnxEngine final : public Engine {
 public:
  OnnxEngine(const std::string& path, const Contract& contract, const SessionOptions& options)
      : library_(ort::Library::load(options.onnx_runtime)) {
    constexpr int kErrors = 3;  // OrtLoggingLevel
    for (const TensorSpec& spec : contract.inputs) input_names_.push_back(spec.name);
    for (const TensorSpec& spec : contract.outputs) output_names_.push_back(spec.name);
    env_ = ort::make<ort::CreateEnv, ort::Env, ort::ReleaseEnv>(*library_, kErrors, "torchport");
    const auto settings =
        ort::make<ort::CreateSessionOptions, ort::SessionOptions, ort::ReleaseSessionOptions>(
            *library_);
    library_->require<ort::SetSessionLogSeverityLevel>(settings.get(), kErrors);
    if (options.threads > 0)
      library_->require<ort::SetIntraOpNumThreads>(settings.get(), options.threads);
    model_ = ort::make<ort::CreateSession, ort::Model, ort::ReleaseSession>(
        *library_, env_.get(), path.c_str(), settings.get());
    constexpr int kArena = 1;          // OrtArenaAllocator
    constexpr int kDefaultMemory = 0;  // OrtMemTypeDefault
    memory_ = ort::make<ort::CreateCpuMemoryInfo, ort::MemoryInfo, ort::ReleaseMemoryInfo>(
        *library_, kArena, kDefaultMemory);
    keep_inputs_of_the_model();
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    std::vector<Value> held;
    std::vector<const ort::Value*> values;
    std::vector<const char*> names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!used_[i]) continue;
      held.push_back(value_of(inputs[i]));
      values.push_back(held.back().get());
      names.push_back(input_names_[i].c_str());
    }
    std::vector<const char*> wanted;
    wanted.reserve(output_names_.size());
    for (const std::string& name : output_names_) wanted.push_back(name.c_str());
    std::vector<ort::Value*> results(wanted.size(), nullptr);
    library_->require<ort::Run>(model_.get(), nullptr, names.data(), values.data(), values.size(),
                                wanted.data(), wanted.size(), results.data());
    std::vector<at::Tensor> outputs;
    outputs.reserve(results.size());
    for (ort::Value* result : results)
      outputs.push_back(tensor_of(Value(result, {library_.get()})));
    return outputs;
  }

  [[nodiscard]] std::string runtime() const override {
    return "ONNX Runtime " + library_->version();
  }

 private:
  using Value = ort::Handle<ort::Value, ort::ReleaseValue>;

  void keep_inputs_of_the_model();
  Value value_of(const at::Tensor& tensor) const;
  at::Tensor tensor_of(Value value) const;

  std::shared_ptr<const ort::Library> library_;
  ort::Handle<ort::Env, ort::ReleaseEnv> env_;
  ort::Handle<ort::MemoryInfo, ort::ReleaseMemoryInfo> memory_;
  ort::Handle<ort::Model, ort::ReleaseSession> model_;
  std::vector<std::string> input_names_;
  std::vector<std::string> output_names_;
  std::vector<bool> used_;  // false for an input that the model ignores: it is not in the graph
};

void OnnxEngine::keep_inputs_of_the_model() {
  ort::Allocator* allocator = nullptr;  // owned by the library
  library_->require<ort::GetAllocatorWithDefaultOptions>(&allocator);
  std::size_t count = 0;
  library_->require<ort::SessionGetInputCount>(model_.get(), &count);
  used_.assign(input_names_.size(), false);
  for (std::size_t i = 0; i < count; ++i) {
    char* text = nullptr;
    library_->require<ort::SessionGetInputName>(model_.get(), i, allocator, &text);
    const std::string name(text);
    library_->require<ort::AllocatorFree>(allocator, static_cast<void*>(text));
    const auto found = std::find(input_names_.begin(), input_names_.end(), name);
    if (found == input_names_.end())
      throw std::runtime_error("the model takes " + name + ", which is not in its contract");
    used_[static_cast<std::size_t>(found - input_names_.begin())] = true;
  }
}

OnnxEngine::Value OnnxEngine::value_of(const at::Tensor& tensor) const {
  return ort::make<ort::CreateTensorWithData, ort::Value, ort::ReleaseValue>(
      *library_, memory_.get(), tensor.data_ptr(), tensor.nbytes(), tensor.sizes().data(),
      tensor.sizes().size(), element_of(tensor.scalar_type()));
}

// Makes a tensor over a value's memory. The tensor owns the value.
at::Tensor OnnxEngine::tensor_of(Value value) const {
  const auto info =
      ort::make<ort::GetTensorTypeAndShape, ort::ShapeInfo, ort::ReleaseTensorTypeAndShapeInfo>(
          *library_, value.get());
  auto element = ort::Element::kUndefined;
  library_->require<ort::GetTensorElementType>(info.get(), &element);
  std::size_t rank = 0;
  library_->require<ort::GetDimensionsCount>(info.get(), &rank);
  std::vector<std::int64_t> sizes(rank);
  library_->require<ort::GetDimensions>(info.get(), sizes.data(), rank);
  void* data = nullptr;
  library_->require<ort::GetTensorMutableData>(value.get(), &data);
  std::shared_ptr<ort::Value> owner(value.release(), [library = library_](ort::Value* made) {
    library->call<ort::ReleaseValue>(made);
  });
  return at::from_blob(
      data, sizes, [owner](void*) {}, dtype_of(element));
}

std::unique_ptr<Engine> open_onnx(const std::string& path, const Contract& contract,
                                  c10::Device /*device*/, const SessionOptions& options) {
  return std::make_unique<OnnxEngine>(path, contract, options);
}

std::string refuses(c10::Device device) {
  return device.is_cpu() ? std::string()
                         : "ONNX models run only on the CPU here: for " + device.str() +
                               " export with --to aoti";
}

const EngineRegistration kOnnxRuntime({.name = "onnx", .open = &open_onnx, .refuses = &refuses});

}  // namespace

}  // namespace torchport::deploy
