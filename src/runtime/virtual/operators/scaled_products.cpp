// Implements the products of float8 and float4 with factors, _scaled_mm and _scaled_mm_v2, as
// cuBLASLt and CUTLASS compute them: in float32, rounded once. The CPU's kernels know one factor
// for a whole matrix only, leave the result of an empty product as it was, and round what is too
// large for a float8 to NaN or infinity.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/scaled_recipes.h"
#include "runtime/virtual/operators/scaled_values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

constexpr std::size_t kFirstArguments = 8;
constexpr std::size_t kSecondArguments = 12;

// The factors for each row of `rows` and each block of 128 columns of k. The first form has those
// of 128 rows as [blocks of rows, blocks of k]; the second form as [blocks of k and padding, blocks
// of rows].
Tensor factors_of_128(const Tensor& scale, Scaling scaling, bool second, std::int64_t rows,
                      std::int64_t blocks) {
  if (scaling == Scaling::kBlock1x128) return scale;
  const Tensor of_blocks = second ? scale.t().narrow(1, 0, blocks) : scale;
  return of_blocks.repeat_interleave(128, 0).narrow(0, 0, rows);
}

// Each block of 128 products is added up before it gets its factors.
Tensor product_of_128(const ScaledCall& call, const Scalings& scalings) {
  const std::int64_t k = call.a.size(1);
  const std::int64_t blocks = blocks_of(k, 128);
  const Tensor a = in_float32(call.a);
  const Tensor b = in_float32(call.b);
  const Tensor of_rows =
      factors_of_128(call.scale_a[0], scalings.first, call.second, a.size(0), blocks);
  const Tensor scale_b = call.second ? call.scale_b[0] : call.scale_b[0].t();
  const Tensor of_columns =
      factors_of_128(scale_b, scalings.second, call.second, b.size(1), blocks).t();
  Tensor sum = at::zeros({a.size(0), b.size(1)}, a.options());
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t from = i * 128;
    const std::int64_t size = std::min<std::int64_t>(128, k - from);
    sum.add_(at::mm(a.narrow(1, from, size), b.narrow(0, from, size))
                 .mul_(of_rows.narrow(1, i, 1))
                 .mul_(of_columns.narrow(0, i, 1)));
  }
  return sum;
}

// Factors in tiles are few bits, so that the products of them with values are exact.
Tensor product_of_tiles(const ScaledCall& call, std::int64_t block) {
  const auto scaled = [&](const Tensor& matrix, const Tensor& scale) {
    const Tensor values = in_float32(matrix);
    const Tensor factors = without_tiles(scale, values.size(0), blocks_of(values.size(1), block));
    return times_blocks(values, factors, block);
  };
  Tensor product = at::mm(scaled(call.a, call.scale_a[0]), scaled(call.b.t(), call.scale_b[0]).t());
  if (call.scale_a.size() > 1)
    product.mul_(call.scale_a[1].reshape({}) * call.scale_b[1].reshape({}));
  return product;
}

Tensor product_of(const ScaledCall& call, const Scalings& scalings) {
  const Tensor& scale_a = call.scale_a[0];
  const Tensor& scale_b = call.scale_b[0];
  switch (scalings.first) {
    case Scaling::kTensor:
      return at::mm(in_float32(call.a), in_float32(call.b))
          .mul_(scale_a.reshape({}) * scale_b.reshape({}));
    case Scaling::kRow:
      return at::mm(in_float32(call.a), in_float32(call.b))
          .mul_(scale_a.reshape({-1, 1}))
          .mul_(scale_b.reshape({1, -1}));
    case Scaling::kBlock1x32:
      return product_of_tiles(call, 32);
    case Scaling::kBlock1x16:
      return product_of_tiles(call, 16);
    case Scaling::kBlock1x128:
    case Scaling::kBlock128x128:
      break;
  }
  return product_of_128(call, scalings);
}

// Leaves the result, which is call.out if there is one, on the stack.
void compute_scaled(const ScaledCall& call, Stack* stack) {
  const at::ScalarType type = call.result_type();
  Tensor result;
  if (call.has_no_product()) {
    result = at::zeros({call.a.size(0), call.b.size(1)}, call.a.options().dtype(type));
  } else {
    const Scalings scalings = call.second ? scalings_by_recipe(call) : scalings_by_shape(call);
    Tensor wide = product_of(call, scalings);
    if (call.bias.defined()) wide.add_(call.bias.reshape({1, -1}));
    if (call.scale_result.defined() && c10::isFloat8Type(type))
      wide.mul_(call.scale_result.reshape({}));
    result = rounded_to(wide, type);
  }
  if (!call.out.defined()) {
    stack->emplace_back(result);
    return;
  }
  at::native::resize_output(call.out, result.sizes());
  call.out.copy_(result);
  stack->emplace_back(call.out);
}

template <bool kOut>
void first_product(Stack* stack) {
  const auto arguments = torch::jit::pop(*stack, kFirstArguments + (kOut ? 1 : 0));
  compute_scaled(ScaledCall::first_form(arguments.data(), kOut), stack);
}

template <bool kOut>
void second_product(Stack* stack) {
  const auto arguments = torch::jit::pop(*stack, kSecondArguments + (kOut ? 1 : 0));
  compute_scaled(ScaledCall::second_form(arguments.data(), kOut), stack);
}

template <bool kOut>
Compute choose_first_product(const IValue* arguments) {
  check_scaled_call(ScaledCall::first_form(arguments, kOut), *Runtime::get().profile());
  return &first_product<kOut>;
}

template <bool kOut>
Compute choose_second_product(const IValue* arguments) {
  check_scaled_call(ScaledCall::second_form(arguments, kOut), *Runtime::get().profile());
  return &second_product<kOut>;
}

bool has_operator(const char* name, std::size_t arguments) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
  return op && op->schema().arguments().size() == arguments;
}

void put_scaled_products(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  if (has_operator("aten::_scaled_mm", kFirstArguments)) {
    put_choice(aten, "_scaled_mm", "", &choose_first_product<false>);
    put_choice(aten, "_scaled_mm", "out", &choose_first_product<true>);
  }
  // From torch 2.10 on.
  if (has_operator("aten::_scaled_mm_v2", kSecondArguments)) {
    put_choice(aten, "_scaled_mm_v2", "", &choose_second_product<false>);
    put_choice(aten, "_scaled_mm_v2", "out", &choose_second_product<true>);
  }
}

const OperatorGroup kScaledProducts(&put_scaled_products);

}  // namespace

}  // namespace torchport::vdev
