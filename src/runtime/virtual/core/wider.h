// Calls a kernel of the CPU in a wider type where it refuses one that CUDA computes (a Fourier
// transform of half precision, the sine of complex32, ...), or is slow in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/ScalarType.h>

namespace torchport::vdev {

// A set of types, a bit for each.
using TypeSet = std::uint64_t;

template <class... Types>
constexpr TypeSet type_set(Types... types) {
  return ((TypeSet{1} << static_cast<unsigned>(types)) | ... | TypeSet{0});
}

// There is one per operator and dispatch key; any thread may use it.
class WiderKernel {
 public:
  // `types` are those of float16, bfloat16, complex32, bool, uint16 and float8 that CUDA computes
  // and the CPU may refuse. `slow` are those that are always widened, if all floating-point
  // arguments are of the same one: a kernel raises for most calls that mix types.
  explicit WiderKernel(TypeSet types, TypeSet slow) : types_(types), slow_(slow) {}

  // Calls the kernel under `cpu` with the arguments on the stack, which lie on the CPU. If one of
  // the types is slow, or the kernel refuses it, the arguments are widened (float16 and bfloat16 to
  // float32, complex32 to complex64, bool to uint8, uint16 to int32, float8 to float32), the kernel
  // is called with them, and what it returns and writes is rounded. Raises what the kernel raises
  // in the wider type.
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet cpu,
                  torch::jit::Stack* stack) const;

  // Whether a call may be widened: one of its tensors has such a type.
  [[nodiscard]] bool may_widen(const c10::IValue* arguments, std::size_t count) const;

 private:
  TypeSet types_;
  TypeSet slow_;
  mutable std::atomic<TypeSet> refused_ = 0;
};

}  // namespace torchport::vdev
