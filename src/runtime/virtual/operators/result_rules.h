// What CUDA's kernels return in another layout or type than the CPU's: a program sees it in
// stride() and is_contiguous(), and in the view() that fails.
#pragma once

#include <cstddef>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKey.h>

namespace torchport::vdev {

// Changes the results of the CPU's kernel, of which there are as many as the operator has, into
// those of the device's. All are tensors of the CPU, and `arguments` those that the kernel was
// called with.
using ResultRule = void (*)(const c10::IValue* arguments, c10::IValue* results);

// The rule for an operator whose CPU kernel is under `cpu`; null if it has none. Thread safe.
[[nodiscard]] ResultRule result_rule_of(const c10::OperatorName& name, c10::DispatchKey cpu);

// Whether TensorIterator lays out the only result of an operator.
[[nodiscard]] bool has_layout_of_iterator(const c10::OperatorHandle& op);

// Whether the arguments of such an operator have several types and one of them has gaps or is
// expanded. The CPU converts them to the common type before it lays out the result, so that they
// are dense by then; CUDA's kernels convert each element when they read it (TensorIterator.cpp,
// compute_types).
[[nodiscard]] bool promotes_with_gaps(const c10::IValue* arguments, std::size_t count);

// Gives the result of such a call the layout that it has on CUDA.
void lay_out_as_iterator(const c10::IValue* arguments, std::size_t count, c10::IValue& result);

}  // namespace torchport::vdev
