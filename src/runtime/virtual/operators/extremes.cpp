// Implements maximum, minimum, fmax and fmin of floating types with the zeros of a GPU: its
// instructions take 0.0 for larger than -0.0 (PTX ISA, max and min), where the CPU's take the two
// for equal and return one by its place (MaxMinElementwiseKernel.cu).
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/result_type.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/library.h>

#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using torch::jit::Stack;

enum class NanOfExtreme { kWins, kLoses };

template <class T>
using BitsOfNumber = std::conditional_t<
    sizeof(T) == sizeof(std::uint16_t), std::uint16_t,
    std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>>;

// Equal numbers are those with equal bits, and the two zeros: the larger has the sign that both
// have, the smaller one that either has.
template <class T, bool kLargest, NanOfExtreme kNan>
T extreme(T a, T b) {
  const bool first_is_nan = a != a;
  if (first_is_nan || b != b) {
    if constexpr (kNan == NanOfExtreme::kWins) return first_is_nan ? a : b;
    return first_is_nan ? b : a;
  }
  if (a == b) {
    const auto x = std::bit_cast<BitsOfNumber<T>>(a);
    const auto y = std::bit_cast<BitsOfNumber<T>>(b);
    return std::bit_cast<T>(static_cast<BitsOfNumber<T>>(kLargest ? x & y : x | y));
  }
  return (a > b) == kLargest ? a : b;
}

template <class T, bool kLargest, NanOfExtreme kNan>
void compute_extremes(at::TensorIteratorBase& iterator) {
  iterator.for_each(
      [](char** data, const std::int64_t* strides, std::int64_t count, std::int64_t rows) {
        for (std::int64_t row = 0; row < rows; ++row) {
          char* const to = data[0] + row * strides[3];
          const char* const a = data[1] + row * strides[4];
          const char* const b = data[2] + row * strides[5];
          for (std::int64_t i = 0; i < count; ++i)
            *reinterpret_cast<T*>(to + i * strides[0]) =
                extreme<T, kLargest, kNan>(*reinterpret_cast<const T*>(a + i * strides[1]),
                                           *reinterpret_cast<const T*>(b + i * strides[2]));
        }
      });
}

// (Tensor self, Tensor other[, Tensor(a!) out]) of floating types
template <bool kLargest, NanOfExtreme kNan, bool kOut>
void extremes(Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, kOut ? 3 : 2);
  Tensor out = kOut ? arguments[2].toTensor() : Tensor();
  at::TensorIterator iterator = at::TensorIterator::borrowing_binary_op(
      out, arguments[0].toTensor(), arguments[1].toTensor());
  switch (iterator.common_dtype()) {
    case at::kFloat:
      compute_extremes<float, kLargest, kNan>(iterator);
      break;
    case at::kDouble:
      compute_extremes<double, kLargest, kNan>(iterator);
      break;
    case at::kHalf:
      compute_extremes<at::Half, kLargest, kNan>(iterator);
      break;
    default:
      compute_extremes<at::BFloat16, kLargest, kNan>(iterator);
  }
  iterator.cast_outputs();
  stack->emplace_back(kOut ? out : iterator.output());
}

template <Compute kCompute>
Compute choose_extremes(const c10::IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& other = arguments[1].toTensor();
  if (!at::isFloatingType(self.scalar_type()) && !at::isFloatingType(other.scalar_type()))
    return nullptr;
  switch (at::result_type(self, other)) {
    case at::kFloat:
    case at::kDouble:
    case at::kHalf:
    case at::kBFloat16:
      return kCompute;
    default:
      return nullptr;
  }
}

template <bool kLargest, NanOfExtreme kNan>
void put_extreme(torch::Library& aten, const char* name) {
  put_choice(aten, name, "", &choose_extremes<&extremes<kLargest, kNan, false>>);
  put_choice(aten, name, "out", &choose_extremes<&extremes<kLargest, kNan, true>>);
}

void put_extremes(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_extreme<true, NanOfExtreme::kWins>(aten, "maximum");
  put_extreme<false, NanOfExtreme::kWins>(aten, "minimum");
  put_extreme<true, NanOfExtreme::kLoses>(aten, "fmax");
  put_extreme<false, NanOfExtreme::kLoses>(aten, "fmin");
}

const OperatorGroup kExtremes(&put_extremes);

}  // namespace

}  // namespace torchport::vdev
