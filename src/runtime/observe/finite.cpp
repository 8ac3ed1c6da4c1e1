#include "runtime/observe/finite.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/any.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>

namespace torchport::observe {

namespace {

bool can_be_read(const at::Tensor& tensor) {
  return (at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type())) &&
         tensor.layout() == c10::kStrided && !tensor.is_meta() &&
         !tensor.unsafeGetTensorImpl()->is_python_dispatch() && !tensor.is_nested();
}

}  // namespace

Finite look_for_not_finite(const at::Tensor& tensor) {
  if (!can_be_read(tensor)) return {};
  const c10::NoGradGuard off;
  return {at::any(at::isnan(tensor)).item<bool>(), at::any(at::isinf(tensor)).item<bool>()};
}

bool all_finite(c10::ArrayRef<KeptArgument> arguments) {
  return std::all_of(arguments.begin(), arguments.end(), [](const KeptArgument& argument) {
    const Finite found = look_for_not_finite(argument.tensor);
    return !found.nan && !found.infinite;
  });
}

}  // namespace torchport::observe
