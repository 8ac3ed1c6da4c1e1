// Converts numbers to integers as a GPU does where they do not fit: the nearest integer there is,
// not the smallest one as on x86.
//
// Source: PTX ISA 9.0, cvt: a float is clamped to the range of the destination. NaN becomes 0, but
// for float64 and for integers of 64 bits 1 << (bits - 1). There are instructions for 32 and 64
// bits; of narrower integers the lowest bits remain, and c10::convert() takes uint8 through int64.
// PyTorch's own test says the same of the smallest float32 on CUDA (test_float_to_int_conversion_
// finite): it becomes 0 as int16. Where the conversion takes place is in Copy.cu: copies between
// host and device convert on the host, unless they are non_blocking.
#include "runtime/virtual/operators/float_to_integer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/real.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;

// Whether all numbers are smaller than 2^bits, and not negative if the integers have no sign. Such
// numbers are the same integers on the CPU, whose kernel is the fastest. The bits of floats are in
// the order of the numbers, and loops over integers are vectorized; -0.0 counts as negative.
template <class From>
bool all_below(const From* numbers, std::int64_t count, int bits, bool has_sign) {
  using Bits = std::conditional_t<
      sizeof(From) == sizeof(std::uint16_t), std::uint16_t,
      std::conditional_t<sizeof(From) == sizeof(float), std::uint32_t, std::uint64_t>>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
  // Of float16, infinity if that is too large.
  const Bits limit = std::bit_cast<Bits>(static_cast<From>(std::ldexp(1.0F, bits)));
  const auto mask = static_cast<Bits>(has_sign ? kSign - 1 : kSign - 1 + kSign);
  const auto largest = static_cast<Bits>(limit - 1);
  const auto* const all_bits = reinterpret_cast<const Bits*>(numbers);
  std::atomic<bool> all{true};
  at::parallel_for(
      0, count, at::internal::GRAIN_SIZE, [=, &all](std::int64_t from, std::int64_t to) {
        Bits outside = 0;
        for (std::int64_t i = from; i < to; ++i) {
          const auto number = static_cast<Bits>(all_bits[i] & mask);
          outside = static_cast<Bits>(outside | number | static_cast<Bits>(largest - number));
        }
        if ((outside & kSign) != 0) all = false;
      });
  return all;
}

bool fit(const Tensor& numbers, ScalarType type) {
  if (!numbers.is_non_overlapping_and_dense() || numbers.is_neg()) return false;
  const bool has_sign = at::isSignedType(type);
  const int bits = static_cast<int>(c10::elementSize(type)) * CHAR_BIT - (has_sign ? 1 : 0);
  const std::int64_t count = numbers.numel();
  switch (numbers.scalar_type()) {
    case ScalarType::Float:
      return all_below(numbers.const_data_ptr<float>(), count, bits, has_sign);
    case ScalarType::Double:
      return all_below(numbers.const_data_ptr<double>(), count, bits, has_sign);
    case ScalarType::Half:
      return all_below(numbers.const_data_ptr<at::Half>(), count, bits, has_sign);
    case ScalarType::BFloat16:
      return all_below(numbers.const_data_ptr<at::BFloat16>(), count, bits, has_sign);
    default:
      return false;
  }
}

template <class From, class To>
void convert_row(char* to, const char* from, const std::int64_t* strides, std::int64_t count) {
  if (strides[0] == sizeof(To) && strides[1] == sizeof(From)) {
    auto* const integers = reinterpret_cast<To*>(to);
    const auto* const numbers = reinterpret_cast<const From*>(from);
    for (std::int64_t i = 0; i < count; ++i) integers[i] = to_integer<To>(numbers[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const From number = *reinterpret_cast<const From*>(from + i * strides[1]);
    *reinterpret_cast<To*>(to + i * strides[0]) = to_integer<To>(number);
  }
}

template <class From, class To>
void convert(at::TensorIteratorBase& iterator) {
  iterator.for_each([](char** data, const std::int64_t* strides, std::int64_t count,
                       std::int64_t rows) {
    for (std::int64_t row = 0; row < rows; ++row)
      convert_row<From, To>(data[0] + row * strides[2], data[1] + row * strides[3], strides, count);
  });
}

template <class From>
void convert_from(at::TensorIteratorBase& iterator, ScalarType to) {
  switch (to) {
    case ScalarType::Byte:
      return convert<From, std::uint8_t>(iterator);
    case ScalarType::Char:
      return convert<From, std::int8_t>(iterator);
    case ScalarType::Short:
      return convert<From, std::int16_t>(iterator);
    case ScalarType::Int:
      return convert<From, std::int32_t>(iterator);
    case ScalarType::Long:
      return convert<From, std::int64_t>(iterator);
    case ScalarType::UInt16:
      return convert<From, std::uint16_t>(iterator);
    case ScalarType::UInt32:
      return convert<From, std::uint32_t>(iterator);
    default:
      return convert<From, std::uint64_t>(iterator);
  }
}

bool is_integer(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
    case ScalarType::UInt16:
    case ScalarType::UInt32:
    case ScalarType::UInt64:
      return true;
    default:
      return false;
  }
}

// The numbers of a tensor as float32 or float64, without rounding.
Tensor real_numbers(const Tensor& from) {
  const Tensor real = (from.is_complex() ? at::real(from) : from).resolve_neg();
  const ScalarType type = real.scalar_type();
  return type == ScalarType::Float || type == ScalarType::Double ? real : real.to(at::kFloat);
}

void convert_all(const Tensor& to, const Tensor& numbers) {
  if (fit(numbers, to.scalar_type())) {
    to.copy_(numbers);
    return;
  }
  const Tensor from = real_numbers(numbers);
  at::TensorIterator iterator = at::TensorIteratorConfig()
                                    .add_output(to)
                                    .add_const_input(from)
                                    .resize_outputs(false)
                                    .check_all_same_dtype(false)
                                    .build();
  if (from.scalar_type() == ScalarType::Double) {
    convert_from<double>(iterator, to.scalar_type());
  } else {
    convert_from<float>(iterator, to.scalar_type());
  }
}

// copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
void copy(torch::jit::Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 3);
  const Tensor to = arguments[0].toTensor();
  const Tensor from = arguments[1].toTensor();
  stack->emplace_back(to);
  // A piece at a time, which is still in a core's cache when it is read for the second time.
  const std::int64_t piece = at::internal::GRAIN_SIZE * std::int64_t{4} * at::get_num_threads();
  const std::int64_t count = to.numel();
  if (count <= piece || !to.is_contiguous() || !from.is_contiguous() ||
      to.sizes() != from.sizes()) {
    convert_all(to, from);
    return;
  }
  const Tensor flat_to = to.view({-1});
  const Tensor flat_from = from.view({-1});
  for (std::int64_t i = 0; i < count; i += piece) {
    const std::int64_t length = std::min(piece, count - i);
    convert_all(flat_to.narrow(0, i, length), flat_from.narrow(0, i, length));
  }
}

Compute choose_copy(const c10::IValue* arguments) {
  const Tensor& to = arguments[0].toTensor();
  const Tensor& from = arguments[1].toTensor();
  if (!is_integer(to.scalar_type())) return nullptr;
  if (!from.is_floating_point() && !from.is_complex()) return nullptr;
  const bool on_device = is_virtual(to.device()) && is_virtual(from.device());
  const bool is_dense = from.layout() == at::kStrided && !from.is_nested() && !to.is_nested();
  const bool named = is_named(to) || is_named(from);
  return (on_device || arguments[2].toBool()) && is_dense && !named ? &copy : nullptr;
}

void put_copy(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "copy_", "", &choose_copy);
}

const OperatorGroup kFloatToInteger(&put_copy);

}  // namespace

}  // namespace torchport::vdev
