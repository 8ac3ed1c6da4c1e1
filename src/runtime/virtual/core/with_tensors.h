// Replaces the tensors in arguments and results of an operator.
#pragma once

#include <utility>

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace torchport::vdev {

// The value with replace(tensor) in the place of each tensor, if it is one or a list of them; else
// the value as it is.
template <typename Replace>
c10::IValue with_tensors(c10::IValue value, const Replace& replace) {
  if (value.isTensor()) return replace(std::move(value).toTensor());
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> list;
  list.reserve(value.toListRef().size());
  for (const c10::IValue& element : value.toListRef()) list.push_back(replace(element.toTensor()));
  return list;
}

// As with_tensors(), and whatever replace_other() makes of other values, also in lists: a list of
// optional tensors, or of lists of tensors.
template <typename Replace, typename ReplaceOther>
c10::IValue with_tensors(c10::IValue value, const Replace& replace,
                         const ReplaceOther& replace_other) {
  if (value.isTensor() || value.isTensorList()) return with_tensors(std::move(value), replace);
  if (!value.isList()) return replace_other(std::move(value));
  const auto from = value.toList();
  auto list = c10::impl::GenericList(from.elementType());
  for (const c10::IValue& element : from)
    list.push_back(with_tensors(element, replace, replace_other));
  return list;
}

}  // namespace torchport::vdev
