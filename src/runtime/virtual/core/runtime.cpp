#include "runtime/virtual/core/runtime.h"

#include <cstdio>
#include <cstdlib>

#include <c10/util/Exception.h>

#include "runtime/virtual/core/build_facts.h"

// Read by _builds.py in the library's file.
extern "C" [[gnu::used, gnu::visibility("default")]] constexpr char torchport_virtual_built_for[] =
    TORCHPORT_BUILT_FOR;

namespace torchport::vdev {

namespace {

using c10::DeviceType;
using c10::DispatchKey;

Kind kind_named(std::string_view name) {
  if (name == "xpu")
    return {DeviceType::XPU,           DispatchKey::XPU,          DispatchKey::SparseXPU,
            DispatchKey::SparseCsrXPU, DispatchKey::QuantizedXPU, DispatchKey::NestedTensorXPU,
            DispatchKey::AutogradXPU};
  if (name == "mps")
    return {DeviceType::MPS,           DispatchKey::MPS,          DispatchKey::SparseMPS,
            DispatchKey::SparseCsrMPS, DispatchKey::QuantizedMPS, DispatchKey::NestedTensorMPS,
            DispatchKey::AutogradMPS};
  return {DeviceType::CUDA,           DispatchKey::CUDA,          DispatchKey::SparseCUDA,
          DispatchKey::SparseCsrCUDA, DispatchKey::QuantizedCUDA, DispatchKey::NestedTensorCUDA,
          DispatchKey::AutogradCUDA};
}

device::Spec spec_of_environment() {
  const char* text = std::getenv(device::kVariable);
  auto spec = device::parse_spec(text == nullptr ? "none" : text);
  if (spec) return *spec;
  // While a library is loaded nobody could catch an exception.
  std::fprintf(stderr, "torchport: %s: %s\n", device::kVariable, spec.error().message.c_str());
  std::exit(2);
}

}  // namespace

Runtime::Runtime() : spec_(spec_of_environment()), kind_(kind_named(spec_.kind)) {
  // Where CUDA's unified addresses lie; each device far from the next.
  constexpr std::uint64_t kBase = 0x7000'0000'0000;
  constexpr std::uint64_t kApart = std::uint64_t{1} << 40U;
  for (int i = 0; i < spec_.count; ++i) {
    memories_.push_back(std::make_unique<device::MemoryModel>(
        kBase + static_cast<std::uint64_t>(i) * kApart, spec_.memory));
  }
  look_again();
}

void Runtime::look_again() {
  if (settled_) return;
  const char* visible = spec_.kind == "cuda" ? std::getenv("CUDA_VISIBLE_DEVICES") : nullptr;
  visible_ = device::visible_devices(visible, spec_.count);
}

Runtime& Runtime::get() {
  static auto* runtime = new Runtime();
  return *runtime;
}

device::MemoryModel& Runtime::memory(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < count(), "Invalid device argument ", static_cast<int>(index),
              ": did you call init?");
  const int number = visible_[static_cast<std::size_t>(index)];
  return *memories_[static_cast<std::size_t>(number)];
}

// The texts of aten/src/ATen/mps/EmptyTensor.cpp and aten/src/ATen/native/mps/OperationUtils.mm.
void check_dtype(c10::ScalarType dtype) {
  static const bool kIsMps = Runtime::get().kind().type == DeviceType::MPS;
  if (!kIsMps) return;
  TORCH_CHECK_TYPE(dtype != c10::ScalarType::Double,
                   "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
                   "support float64. Please use float32 instead.");
  TORCH_CHECK_TYPE(dtype != c10::ScalarType::ComplexDouble, "Trying to convert ", dtype,
                   " to the MPS backend but it does not have support for that dtype.");
}

}  // namespace torchport::vdev
