// Which assertions the kernels of a real device make of their arguments, by operator. An operator's
// entry stands in a file beside the entries of its group, and registers itself:
//
//   std::optional<FailedAssertion> of_gather(const CallArguments& call) { ... }
//   const KernelAssertion kGather("aten::gather", &of_gather);
//
// No list names the entries. They are asked only after the CPU's kernel has raised an exception, so
// they cost nothing otherwise, and it does not matter what that exception says.
//
// Rejected: to tell the CPU's exceptions apart by their messages. These differ between releases,
// and one message stands for an assertion of a kernel in some operators and for a check of the host
// in others (index_put_ with accumulate=True).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "runtime/virtual/errors/device_errors.h"

namespace torchport::vdev {

// The arguments of a call, by name. Tensors are the CPU's, over the bytes of the device's tensors.
class CallArguments {
 public:
  CallArguments(const c10::FunctionSchema& schema, const c10::IValue* values)
      : schema_(schema), values_(values) {}

  // The argument of this name; None if the operator has none or it was not given.
  [[nodiscard]] const c10::IValue& value(std::string_view name) const;
  // Undefined if it is None.
  [[nodiscard]] at::Tensor tensor(std::string_view name) const;
  // Raises if the argument is no integer. `otherwise` is its value if it is None.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const;
  [[nodiscard]] bool flag(std::string_view name) const;

 private:
  const c10::FunctionSchema& schema_;
  const c10::IValue* values_;
};

class KernelAssertion {
 public:
  // Returns the assertion that this call fails; nothing if it fails none. May raise c10::Error,
  // which counts as nothing: then the arguments are not what the host lets through.
  using Find = std::optional<FailedAssertion> (*)(const CallArguments& call);

  // The results of a call that failed it, tensors of the CPU, for an operator without a meta kernel
  // that makes its results itself.
  using Results = std::vector<c10::IValue> (*)(const CallArguments& call);

  // For all overloads of an operator. REQUIRED to have static storage duration.
  KernelAssertion(std::string_view op, Find find, Results made = nullptr);
  KernelAssertion(const KernelAssertion&) = delete;
  KernelAssertion& operator=(const KernelAssertion&) = delete;

  // The entry of an operator; null if its kernels assert nothing. Thread safe.
  [[nodiscard]] static const KernelAssertion* of(const c10::OperatorHandle& op);

  [[nodiscard]] std::optional<FailedAssertion> failed_by(const CallArguments& call) const {
    return find_(call);
  }
  // Null if the operator's meta kernel says it.
  [[nodiscard]] Results results() const { return results_; }

 private:
  Find find_;
  Results results_;
};

}  // namespace torchport::vdev
