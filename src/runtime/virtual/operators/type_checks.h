// What the refusals of types consist of: see type_refusals.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>

namespace torchport::vdev {

// A kernel that has nothing to compute ends before it looks at the type.
inline bool computes_nothing(const at::Tensor& tensor) {
  return !tensor.defined() || tensor.numel() == 0;
}

[[noreturn]] inline void refuse_type(const char* kernel, at::ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, '"', kernel, "\" not implemented for '", c10::toString(type),
                              "'");
}

// A text as an argument of a template.
template <std::size_t kSize>
struct Text {
  constexpr Text(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
  char text[kSize];
};

// Whether a type is one of these kinds: i for integers, u for uint8 alone, w for the wider ones
// without a sign, b for bool, h for float16 and bfloat16, f for those of 8 bits, c for complex
// numbers, x for complex32.
inline bool holds(std::string_view kinds, at::ScalarType type) {
  const auto has = [&](char kind) { return kinds.find(kind) != std::string_view::npos; };
  switch (type) {
    case at::ScalarType::Byte:
      return has('i') || has('u');
    case at::ScalarType::Char:
    case at::ScalarType::Short:
    case at::ScalarType::Int:
    case at::ScalarType::Long:
      return has('i');
    case at::ScalarType::Bool:
      return has('b');
    case at::ScalarType::UInt16:
    case at::ScalarType::UInt32:
    case at::ScalarType::UInt64:
      return has('w');
    case at::ScalarType::ComplexFloat:
    case at::ScalarType::ComplexDouble:
      return has('c');
    case at::ScalarType::ComplexHalf:
      return has('x');
    case at::ScalarType::Half:
    case at::ScalarType::BFloat16:
      return has('h');
    case at::ScalarType::Float8_e4m3fn:
    case at::ScalarType::Float8_e4m3fnuz:
    case at::ScalarType::Float8_e5m2:
    case at::ScalarType::Float8_e5m2fnuz:
      return has('f');
    default:
      return false;
  }
}

// Refuses the types of `kKinds` for the argument with this index.
template <std::size_t kIndex, Text kKernel, Text kKinds>
void check_type(const c10::IValue* arguments) {
  if (!arguments[kIndex].isTensor()) return;
  const at::Tensor& tensor = arguments[kIndex].toTensor();
  if (!computes_nothing(tensor) && holds(kKinds.text, tensor.scalar_type()))
    refuse_type(kKernel.text, tensor.scalar_type());
}

// The same for the common type of the first two arguments.
template <Text kKernel, Text kKinds>
void check_common_type(const c10::IValue* arguments) {
  if (!arguments[0].isTensor() || !arguments[1].isTensor()) return;
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& other = arguments[1].toTensor();
  if (computes_nothing(self) || computes_nothing(other)) return;
  if (!holds(kKinds.text, self.scalar_type()) && !holds(kKinds.text, other.scalar_type())) return;
  const at::ScalarType common = at::result_type(self, other);
  if (holds(kKinds.text, common)) refuse_type(kKernel.text, common);
}

}  // namespace torchport::vdev
