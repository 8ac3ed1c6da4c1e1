// What code that AOTInductor generates for a virtual device calls of the runtime.
//
// Such code calls an operator by a C function of its own for each type of device, for example
// aoti_torch_cuda_mm_out. Those of a GPU are in PyTorch's builds for it only. Operator<> stands for
// one of them, with its parameters, and calls the operator through PyTorch's dispatcher. Code that
// includes this file needs torchport's runtime to be loaded: the loader refuses it elsewhere by the
// name of the missing function, so that it is never taken for code of a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>

extern "C" {

// One argument of a C function for an operator.
struct TorchportArgument {
  enum Kind : std::int32_t { kInteger, kReal, kPointer };
  Kind kind;
  union {
    std::int64_t integer;  // numbers, truth values, types
    double real;
    void* pointer;  // a tensor's handle; or where a list, an optional argument or a result is
  };
};

// Calls an operator by the name that its C function has after "aoti_torch_DEVICE_", such as
// "mm_out", with the arguments of that function. Returns 0; or 1 if it failed, after the error is
// logged as by PyTorch's own functions. Thread safe.
std::int32_t torchport_aoti_call(const char* name, const TorchportArgument* arguments,
                                 std::size_t count);

// Reports that a generated kernel on the device of this number found `condition` to be false.
// Returns whether it is a device-side assert, which later calls raise; else the caller raises it.
// Thread safe.
bool torchport_aoti_failed(std::int32_t device, const char* kernel, const char* source,
                           const char* condition);

// Makes the device of this number the calling thread's current one, and returns that before.
std::int32_t torchport_aoti_exchange_device(std::int32_t device);

}  // extern "C"

namespace torchport_aoti {

inline TorchportArgument argument(std::int64_t value) {
  return {.kind = TorchportArgument::kInteger, .integer = value};
}
inline TorchportArgument argument(std::int32_t value) {
  return argument(static_cast<std::int64_t>(value));
}
inline TorchportArgument argument(double value) {
  return {.kind = TorchportArgument::kReal, .real = value};
}
template <typename T>
TorchportArgument argument(T* value) {
  return {.kind = TorchportArgument::kPointer,
          .pointer = const_cast<void*>(static_cast<const void*>(value))};  // NOLINT(*-const-cast)
}

template <typename Name, typename Function>
struct Operator;

template <typename Name, typename... Given>
struct Operator<Name, std::int32_t (*)(Given...)> {
  static std::int32_t call(Given... given) {
    const TorchportArgument arguments[] = {argument(given)...};  // NOLINT(*-avoid-c-arrays)
    return torchport_aoti_call(Name::kText, arguments, sizeof...(Given));
  }
};

// Makes a device the current one, as long as it lives. The stream stays the current one of the
// device: the runner of a GPU's code passes that.
class DeviceGuard {
 public:
  explicit DeviceGuard(std::int32_t device) : before_(torchport_aoti_exchange_device(device)) {}
  DeviceGuard(void* /*stream*/, std::int32_t device) : DeviceGuard(device) {}
  ~DeviceGuard() { torchport_aoti_exchange_device(before_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  DeviceGuard(DeviceGuard&&) = delete;
  DeviceGuard& operator=(DeviceGuard&&) = delete;

 private:
  std::int32_t before_;
};

// The address of a tensor's elements for a generated kernel. Raises if its storage was freed.
template <typename Pointer, typename Handle>
Pointer pointer(const Handle& tensor) {
  void* const data = tensor.data_ptr();
  std::int64_t elements = 0;
  if (data == nullptr && aoti_torch_get_numel(tensor, &elements) == 0 && elements > 0)
    throw std::runtime_error(
        "The tensor has a non-zero number of elements, but its data is not allocated yet.");
  return static_cast<Pointer>(data);
}

// Calls a generated kernel.
template <typename Kernel, typename... Given>
void launch(Kernel* kernel, const char* name, std::int32_t device, Given... given) {
  try {
    kernel(given...);
  } catch (const std::exception& error) {
    if (!torchport_aoti_failed(device, name, __FILE__, error.what())) throw;
  }
}

}  // namespace torchport_aoti

namespace torch::aot_inductor {
using AOTICudaGuard = torchport_aoti::DeviceGuard;
using AOTICudaStreamGuard = torchport_aoti::DeviceGuard;
}  // namespace torch::aot_inductor
