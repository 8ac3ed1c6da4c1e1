// Enumerates the tensors in an operator's argument or result. Every part that looks at a call uses
// this one function, so that they agree about what is searched.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace torchport::observer {

// Calls `visit(const at::Tensor&)` for each defined tensor of a value, in order. The value may be a
// tensor, an optional one, a list of tensors or a list of lists; other values have none.
template <typename Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) each_tensor(element, visit);
  }
}

}  // namespace torchport::observer
