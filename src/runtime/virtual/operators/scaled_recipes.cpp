// After aten/src/ATen/native/cuda/ScaledBlas.cpp and aten/src/ATen/cuda/CUDAScaledBlas.cpp (2.9 and
// later); torch 2.8 has fewer scalings and says less of wrong ones.
#include "runtime/virtual/operators/scaled_recipes.h"

#include <array>

#include <c10/util/Exception.h>

#include "runtime/virtual/operators/scaled_values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

std::optional<at::ScalarType> type_or_none(const IValue& value) {
  return value.isNone() ? std::nullopt : std::optional(value.toScalarType());
}

Tensor defined_or_none(const IValue& value) {
  return value.isTensor() ? value.toTensor() : Tensor();
}

bool is_float_type(const Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat;
}

bool is_eight(const Tensor& matrix) {
  return c10::isFloat8Type(matrix.scalar_type());
}

// A dimension of one element has any stride.
bool has_dim(const Tensor& scale, std::int64_t dim, std::int64_t size, std::int64_t stride) {
  return scale.size(dim) == size && (size <= 1 || scale.stride(dim) == stride);
}

std::int64_t tiled_factors(std::int64_t rows, std::int64_t columns, std::int64_t block) {
  return rounded_up(rows, 128) * rounded_up(blocks_of(columns, block), 4);
}

// Whether `scale` has the factors of the matrix [rows, k] for this scaling.
bool fits(Scaling scaling, const Tensor& matrix, const Tensor& scale) {
  const std::int64_t rows = matrix.size(0);
  const std::int64_t k = matrix.size(1);
  const bool of_floats = is_eight(matrix) && is_float_type(scale);
  switch (scaling) {
    case Scaling::kTensor:
      return of_floats && scale.numel() == 1;
    case Scaling::kRow:
      return of_floats && scale.dim() == 2 && scale.size(0) == rows && scale.size(1) == 1 &&
             scale.is_contiguous();
    case Scaling::kBlock1x16:
      return is_packed(matrix.scalar_type()) && scale.scalar_type() == at::kFloat8_e4m3fn &&
             scale.numel() == tiled_factors(rows, k * 2, 16) && scale.is_contiguous();
    case Scaling::kBlock1x32: {
      const bool packed = is_packed(matrix.scalar_type());
      return (packed || is_eight(matrix)) && scale.scalar_type() == at::kFloat8_e8m0fnu &&
             scale.numel() == tiled_factors(rows, packed ? k * 2 : k, 32) && scale.is_contiguous();
    }
    case Scaling::kBlock1x128:
      return of_floats && scale.dim() == 2 && has_dim(scale, 0, rows, 1) &&
             has_dim(scale, 1, blocks_of(k, 128), rows);
    case Scaling::kBlock128x128:
      return of_floats && scale.dim() == 2 &&
             has_dim(scale, 0, blocks_of(rows, 128), blocks_of(k, 128)) &&
             has_dim(scale, 1, blocks_of(k, 128), 1);
  }
  return false;
}

// Raises std::ValueError's or the general error, as the form of the operator does.
[[noreturn]] void refuse_scaling(const ScaledCall& call) {
  const Tensor& a = call.a;
  const Tensor& b = call.b;
  const Tensor& scale_a = call.scale_a.at(0);
  const Tensor& scale_b = call.scale_b.at(0);
  const char* matrix = call.second ? "mat_" : "";
  const char* index = call.second ? "[0]" : "";
  const std::string text = c10::str(
      "Invalid scaling configuration.\n"
      "- For TensorWise scaling, a and b should be float8, scales should be float and "
      "singletons.\n"
      "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be "
      "(",
      a.size(0), ", 1) and scale_b should be (1, ", b.size(1),
      "), and both should be contiguous.\n"
      "- For BlockWise 1x128 scaling, a and b should be float8, scales should be float, scale_a "
      "should be (",
      a.size(0), ", ", blocks_of(a.size(1), 128), ") and scale_b should be (",
      blocks_of(b.size(0), 128), ", ", b.size(1),
      "), and both should be outer-dim-major.\n"
      "- For BlockWise 128x128 scaling, a and b should be float8, scales should be float, scale_a "
      "should be (",
      blocks_of(a.size(0), 128), ", ", blocks_of(a.size(1), 128), ") and scale_b should be (",
      blocks_of(b.size(0), 128), ", ", blocks_of(b.size(1), 128),
      "), and both should be near-inner-dim-major (with 16-byte aligned strides).\n"
      "- For Blockwise 1x32 scaling, a and b should be float8, scales should be float8_e8m0fnu, "
      "scale_a should have ",
      tiled_factors(a.size(0), a.size(1), 32), " elements and scale_b should have ",
      tiled_factors(b.size(1), b.size(0), 32),
      " elements, and both should be contiguous.\n"
      "- For Blockwise 1x16 scaling, a and b should be float4 (packed 2x), scales should be "
      "float8_e4m3fn, scale_a should have ",
      tiled_factors(a.size(0), a.size(1) * 2, 16), " elements and scale_b should have ",
      tiled_factors(b.size(1), b.size(0) * 2, 16),
      " elements, and both should be contiguous.\n"
      "Got ",
      matrix, "a.dtype()=", a.scalar_type(), ", scale_a", index, ".dtype()=", scale_a.scalar_type(),
      ", scale_a", index, ".size()=", scale_a.sizes(), ", scale_a", index,
      ".stride()=", scale_a.strides(), ", ", matrix, "b.dtype()=", b.scalar_type(), ", scale_b",
      index, ".dtype()=", scale_b.scalar_type(), ", scale_b", index, ".size()=", scale_b.sizes(),
      " and scale_b", index, ".stride()=", scale_b.strides());
  TORCH_CHECK_VALUE(!call.second, text);
  TORCH_CHECK(false, text);
}

bool has_recipes(const std::vector<std::int64_t>& recipes, std::initializer_list<Scaling> wanted) {
  return std::equal(
      recipes.begin(), recipes.end(), wanted.begin(), wanted.end(),
      [](std::int64_t recipe, Scaling one) { return recipe == static_cast<std::int64_t>(one); });
}

bool have_types(const std::vector<Tensor>& scales, std::initializer_list<at::ScalarType> wanted) {
  return std::equal(
      scales.begin(), scales.end(), wanted.begin(), wanted.end(),
      [](const Tensor& scale, at::ScalarType type) { return scale.scalar_type() == type; });
}

// Whether both sides have these recipes and factors of these types.
bool are_both(const ScaledCall& call, std::initializer_list<Scaling> recipes,
              std::initializer_list<at::ScalarType> types) {
  return has_recipes(call.recipe_a, recipes) && has_recipes(call.recipe_b, recipes) &&
         have_types(call.scale_a, types) && have_types(call.scale_b, types);
}

}  // namespace

ScaledCall ScaledCall::first_form(const IValue* arguments, bool with_out) {
  ScaledCall call;
  call.a = arguments[0].toTensor();
  call.b = arguments[1].toTensor();
  call.scale_a = {arguments[2].toTensor()};
  call.scale_b = {arguments[3].toTensor()};
  call.bias = defined_or_none(arguments[4]);
  call.scale_result = defined_or_none(arguments[5]);
  call.type = type_or_none(arguments[6]);
  call.fast = arguments[7].toBool();
  if (with_out) call.out = arguments[8].toTensor();
  return call;
}

ScaledCall ScaledCall::second_form(const IValue* arguments, bool with_out) {
  ScaledCall call;
  call.second = true;
  call.a = arguments[0].toTensor();
  call.b = arguments[1].toTensor();
  call.scale_a = arguments[2].toTensorVector();
  call.recipe_a = arguments[3].toIntVector();
  call.swizzle_a = arguments[4].toIntVector();
  call.scale_b = arguments[5].toTensorVector();
  call.recipe_b = arguments[6].toIntVector();
  call.swizzle_b = arguments[7].toIntVector();
  call.bias = defined_or_none(arguments[8]);
  call.type = type_or_none(arguments[9]);
  call.contraction = arguments[10].toIntVector();
  call.fast = arguments[11].toBool();
  if (with_out) call.out = arguments[12].toTensor();
  return call;
}

Scalings scalings_by_shape(const ScaledCall& call) {
  static constexpr std::array<Scalings, 7> kKnown{{
      {Scaling::kTensor, Scaling::kTensor},
      {Scaling::kRow, Scaling::kRow},
      {Scaling::kBlock128x128, Scaling::kBlock1x128},
      {Scaling::kBlock1x128, Scaling::kBlock128x128},
      {Scaling::kBlock1x128, Scaling::kBlock1x128},
      {Scaling::kBlock1x32, Scaling::kBlock1x32},
      {Scaling::kBlock1x16, Scaling::kBlock1x16},
  }};
  const Tensor& scale_a = call.scale_a[0];
  const Tensor& scale_b = call.scale_b[0];
  for (const Scalings& known : kKnown) {
    // Tiles are those of the transposed matrix already. What has more than two dimensions cannot
    // be transposed, which the device says.
    const bool in_tiles =
        known.second == Scaling::kBlock1x16 || known.second == Scaling::kBlock1x32;
    if (fits(known.first, call.a, scale_a) &&
        fits(known.second, call.b.t(), in_tiles ? scale_b : scale_b.t()))
      return known;
  }
  refuse_scaling(call);
}

std::optional<Scalings> find_recipe(const ScaledCall& call) {
  const bool eights = is_eight(call.a) && is_eight(call.b);
  const bool e4m3 =
      call.a.scalar_type() == at::kFloat8_e4m3fn && call.b.scalar_type() == at::kFloat8_e4m3fn;
  const bool fours = is_packed(call.a.scalar_type()) && is_packed(call.b.scalar_type());
  for (const Scaling each : {Scaling::kTensor, Scaling::kRow}) {
    if (eights && are_both(call, {each}, {at::kFloat})) return Scalings{each, each};
  }
  const bool of_floats =
      have_types(call.scale_a, {at::kFloat}) && have_types(call.scale_b, {at::kFloat});
  static constexpr std::array<Scalings, 3> kOf128{{
      {Scaling::kBlock1x128, Scaling::kBlock128x128},
      {Scaling::kBlock128x128, Scaling::kBlock1x128},
      {Scaling::kBlock1x128, Scaling::kBlock1x128},
  }};
  for (const Scalings& known : kOf128) {
    if (e4m3 && of_floats && has_recipes(call.recipe_a, {known.first}) &&
        has_recipes(call.recipe_b, {known.second}))
      return known;
  }
  const Scalings of_16{Scaling::kBlock1x16, Scaling::kBlock1x16};
  if (fours &&
      are_both(call, {Scaling::kBlock1x16, Scaling::kTensor}, {at::kFloat8_e4m3fn, at::kFloat}))
    return of_16;
  if (fours && are_both(call, {Scaling::kBlock1x16}, {at::kFloat8_e4m3fn})) return of_16;
  if ((e4m3 || fours) && are_both(call, {Scaling::kBlock1x32}, {at::kFloat8_e8m0fnu}))
    return Scalings{Scaling::kBlock1x32, Scaling::kBlock1x32};
  return {};
}

Scalings scalings_by_recipe(const ScaledCall& call) {
  const auto found = find_recipe(call);
  if (!found) refuse_scaling(call);
  return *found;
}

}  // namespace torchport::vdev
