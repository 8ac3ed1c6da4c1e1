// Implements what CUDA computes where the CPU's division of integers fails: by zero its kernels
// raise ZeroDivisionError, and the smallest integer divided by -1 ends the process. A GPU has no
// such traps: its division by zero leaves all bits set, and by -1 it wraps around.
//
// Source of the values: PyTorch's own test of fmod and remainder by zero on CUDA (all bits; for
// int64, whose division takes 32 bits where both numbers fit, 2^32 - 1 for a dividend that is not
// negative). CUDA's documentation leaves them unspecified, so that programs must not rely on them.
// For quotients the same is taken, with what PyTorch's floor division subtracts from them.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/div.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

enum class Division { kTruncated, kFloored, kRemainder, kFmod };

// What a division of integers by zero leaves, for dividends of the common type.
Tensor by_zero(const Tensor& dividend, Division division) {
  if (dividend.scalar_type() == at::kByte) return at::full_like(dividend, 255);
  Tensor bits = at::full_like(dividend, -1);
  const Tensor negative = dividend < 0;
  if (dividend.scalar_type() == at::kLong) {
    constexpr std::int64_t kLow = 0xffffffff;
    const Tensor fits = negative.logical_not().logical_and_(dividend <= kLow);
    bits = at::where(fits, at::full_like(dividend, kLow), bits);
  }
  return division == Division::kFloored ? at::where(negative, bits - 1, bits) : bits;
}

Tensor divided(const Tensor& self, const Tensor& other, Division division) {
  switch (division) {
    case Division::kTruncated:
      return at::div(self, other, "trunc");
    case Division::kFloored:
      return at::div(self, other, "floor");
    case Division::kRemainder:
      return at::remainder(self, other);
    default:
      return at::fmod(self, other);
  }
}

// Whether the CPU's kernel fails for these numbers, or may.
bool may_fail(const Tensor& divisor) {
  Aliases aliases;
  const Tensor host = aliases.of(divisor, Aliases::Use::kReads);
  const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset);
  const bool is_signed = host.scalar_type() != at::kByte && host.scalar_type() != at::kBool;
  return (is_signed ? (host == 0).logical_or_(host == -1) : host == 0).any().item<bool>();
}

// What a division by -1 leaves.
Tensor by_minus_one(const Tensor& dividend, Division division) {
  const bool is_quotient = division == Division::kTruncated || division == Division::kFloored;
  return is_quotient ? at::neg(dividend) : at::zeros_like(dividend);
}

// (self, other, ...): `division` of integers that divides by zero where the CPU's kernel raises.
class IntegerDivision final : public c10::OperatorKernel {
 public:
  IntegerDivision(const c10::OperatorHandle& op, std::optional<Division> division)
      : kernel_(op, c10::DispatchKey::CPU),
        division_(division),
        arguments_(op.schema().arguments().size()) {
    const c10::FunctionSchema& schema = op.schema();
    in_place_ = schema.is_mutable() && schema.arguments()[0].alias_info() != nullptr;
    out_ = schema.is_mutable() && !in_place_;
  }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const std::size_t first = stack->size() - arguments_;
    const std::optional<Division> division = division_ ? division_ : mode((*stack)[first + 2]);
    const Tensor self = (*stack)[first].toTensor();
    const Tensor other = (*stack)[first + 1].toTensor();
    if (!division || !divides_integers(self, other) || !may_fail(other)) {
      kernel_(op, keys, stack);
      return;
    }
    const Tensor result = computed(self, other, *division);
    const Tensor written = in_place_ ? self : out_ ? stack->back().toTensor() : Tensor();
    stack->resize(first);
    if (!written.defined()) {
      stack->emplace_back(result);
      return;
    }
    TORCH_CHECK(c10::canCast(result.scalar_type(), written.scalar_type()), "result type ",
                result.scalar_type(), " can't be cast to the desired output type ",
                written.scalar_type());
    if (out_) at::native::resize_output(written, result.sizes());
    stack->emplace_back(written.copy_(result));
  }

 private:
  // div's rounding_mode; none if it divides exactly.
  static std::optional<Division> mode(const c10::IValue& rounding) {
    if (!rounding.isString()) return std::nullopt;
    const std::string_view name = rounding.toStringRef();
    if (name == "trunc") return Division::kTruncated;
    return name == "floor" ? std::optional(Division::kFloored) : std::nullopt;
  }

  static bool divides_integers(const Tensor& self, const Tensor& other) {
    const auto whole = [](at::ScalarType type) { return at::isIntegralType(type, true); };
    return other.defined() && self.defined() && whole(self.scalar_type()) &&
           whole(other.scalar_type()) && other.numel() > 0 &&
           (self.device() == other.device() || self.dim() == 0 || other.dim() == 0) &&
           at::isIntegralType(at::result_type(self, other), false);
  }

  static Tensor chosen(const Tensor& dividend, const Tensor& divisor, const Tensor& zero,
                       Division division) {
    const Tensor usable = at::where(zero, at::full_like(divisor, 1), divisor);
    return at::where(zero, by_zero(dividend, division), divided(dividend, usable, division));
  }

  static Tensor computed(const Tensor& self, const Tensor& other, Division division) {
    const at::ScalarType type = at::result_type(self, other);
    const c10::Device device = self.device().is_cpu() ? other.device() : self.device();
    const Tensor dividend = self.to(device, type);
    const Tensor divisor = other.to(device, type);
    const Tensor zero = divisor == 0;
    if (type == at::kByte) return chosen(dividend, divisor, zero, division);
    const Tensor minus_one = divisor == -1;
    const Tensor result =
        chosen(dividend, at::where(minus_one, at::full_like(divisor, 1), divisor), zero, division);
    return at::where(minus_one, by_minus_one(dividend, division), result);
  }

  AliasKernel kernel_;
  std::optional<Division> division_;  // none if an argument says it
  std::size_t arguments_;
  bool in_place_ = false;
  bool out_ = false;
};

Tensor remainder_of_number(const at::Scalar& self, const Tensor& other) {
  return at::remainder(at::native::wrapped_scalar_tensor(self), other);
}

void put_division(torch::Library& aten, const char* name, const char* overload,
                  std::optional<Division> division) {
  const std::string full = std::string("aten::") + name;
  const std::string dotted = *overload == '\0' ? name : std::string(name) + "." + overload;
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), overload);
  aten.impl(dotted.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                std::make_unique<IntegerDivision>(op, division)));
}

void put_integer_division(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_division(aten, "div", "Tensor_mode", std::nullopt);
  put_division(aten, "div_", "Tensor_mode", std::nullopt);
  put_division(aten, "div", "out_mode", std::nullopt);
  put_division(aten, "floor_divide", "", Division::kFloored);
  put_division(aten, "floor_divide_", "Tensor", Division::kFloored);
  put_division(aten, "floor_divide", "out", Division::kFloored);
  put_division(aten, "remainder", "Tensor", Division::kRemainder);
  put_division(aten, "remainder_", "Tensor", Division::kRemainder);
  put_division(aten, "remainder", "Tensor_out", Division::kRemainder);
  aten.impl("remainder.Scalar_Tensor", TORCH_FN(remainder_of_number));
  put_division(aten, "fmod", "Tensor", Division::kFmod);
  put_division(aten, "fmod_", "Tensor", Division::kFmod);
  put_division(aten, "fmod", "Tensor_out", Division::kFmod);
}

const OperatorGroup kIntegerDivision(&put_integer_division);

}  // namespace

}  // namespace torchport::vdev
