// After aten/src/ATen/native/cuda/GroupedBlas.cpp, aten/src/ATen/native/GroupedMMUtils.h, and the
// checks of MSLK's kernels.
#include "runtime/virtual/operators/grouped_rules.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>

#include "runtime/virtual/operators/scaled_values.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

constexpr std::int64_t kSwizzledGroups = 1;  // SwizzleType::SWIZZLE_32_4_4

std::optional<ScalarType> grouped_type(const IValue& value) {
  return value.isNone() ? std::nullopt : std::optional(value.toScalarType());
}

Tensor grouped_tensor(const IValue& value) {
  return value.isTensor() ? value.toTensor() : Tensor();
}

// check_valid_strides_and_return_transposed
bool is_transposed(const Tensor& matrix) {
  const std::int64_t aligned = 16 / matrix.element_size();
  TORCH_CHECK(reinterpret_cast<std::uintptr_t>(matrix.const_data_ptr()) % 16 == 0,
              "expected data_ptr to be aligned to 16 bytes");
  const auto is_dense_along = [&](std::int64_t inner, std::int64_t outer) {
    return matrix.stride(inner) == 1 &&
           matrix.stride(outer) >= std::max<std::int64_t>(1, matrix.size(inner));
  };
  const bool transposed = is_dense_along(-2, -1);
  TORCH_CHECK(transposed || is_dense_along(-1, -2), "Invalid strides/sizes, got ", matrix.strides(),
              " for strides and ", matrix.sizes(), " for sizes");
  TORCH_CHECK(matrix.stride(transposed ? -1 : -2) % aligned == 0,
              "strides should be multiple of 16 bytes");
  return transposed;
}

bool has_groups(const Tensor& matrix) {
  return matrix.dim() == 3;
}

// --- Factors

void check_factors_of_rows(const Tensor& matrix, const Tensor& scale, std::int64_t dim,
                           std::int64_t groups) {
  if (!has_groups(matrix)) {
    TORCH_CHECK(scale.dim() == 1, "scale must be a 1D tensor, but got ", scale.dim(), "D, arg ",
                dim);
    TORCH_CHECK(scale.is_contiguous(), "scale must be contiguous for arg ", dim);
    TORCH_CHECK(scale.size(0) == matrix.size(dim) * groups,
                "scale must have the same length as mat for arg ", dim);
    return;
  }
  TORCH_CHECK(scale.dim() == 2, "scale must be a 2D tensor, but got ", scale.dim(), "D for arg ",
              dim);
  TORCH_CHECK(scale.stride(1) == 1, "scale must be contiguous in the last dimension for arg ", dim);
  TORCH_CHECK(scale.size(0) == matrix.size(0),
              "scale must have the same batch dimension as mat for arg ", dim);
  TORCH_CHECK(scale.size(1) == matrix.size(1 + dim),
              "scale must have the same first dimension as mat for arg ", dim);
}

void check_factors_in_tiles(const Tensor& matrix, const Tensor& scale, std::int64_t dim) {
  const bool packed = is_packed(matrix.scalar_type());
  const std::int64_t block = packed && scale.scalar_type() == at::kFloat8_e4m3fn ? 16 : 32;
  if (!has_groups(matrix)) {
    TORCH_CHECK(scale.dim() == matrix.dim(),
                "for block-scaled, scale must have same number of dimensions as parent tensor, but "
                "got mat.dim() = ",
                matrix.dim(), " and scale.dim() = ", scale.dim(), " for arg ", dim);
    TORCH_CHECK(scale.size(0) >= matrix.size(dim), "for block-scaled, arg ", dim, " tensor shape (",
                matrix.size(0), ", ", matrix.size(1),
                ") must have scale.shape[0] >= ", matrix.size(dim), " but got scale.shape=(",
                scale.size(0), ", ", scale.size(1), ")");
    return;
  }
  const std::int64_t groups = matrix.size(0);
  const std::int64_t k = matrix.size(1) * (packed ? 2 : 1);
  const std::int64_t n = matrix.size(2);
  const std::int64_t high = rounded_up(k / block, 4);
  const std::int64_t wide = rounded_up(n, 128);
  TORCH_CHECK(scale.dim() == 2,
              "for block-scaled 2d-3d grouped GEMM, the 3d tensor of shape (G,K,N) must have a 2d "
              "scale of shape (G, blocked_scale_K * blocked_scale_N),but scale is ",
              scale.dim(), "D for arg ", dim);
  TORCH_CHECK(scale.size(0) == groups && scale.size(1) == high * wide,
              "for block-scaled grouped GEMM, the tensor shape (", groups, ", ", k, ", ", n,
              ") must have scale shape (", groups, ",", high, ",", wide, ") for arg ", dim,
              ", got: ", scale.size(0), ", ", scale.size(1));
}

void check_rows(const GroupedCall& call) {
  const std::int64_t groups = call.adds_over_groups() ? call.offsets.size(0) : 1;
  check_factors_of_rows(call.a(), call.scaled.scale_a[0], 0, groups);
  check_factors_of_rows(call.b(), call.scaled.scale_b[0], 1, groups);
}

void check_row_types(const GroupedCall& call) {
  for (const Tensor* matrix : {&call.scaled.a, &call.scaled.b}) {
    TORCH_CHECK_VALUE(matrix->scalar_type() == at::kFloat8_e4m3fn,
                      "Expected mat_a to be Float8_e4m3 matrix got ", matrix->scalar_type());
  }
}

void check_tiles_of_groups(const GroupedCall& call, const devices::Profile& profile) {
  check_factors_in_tiles(call.a(), call.scaled.scale_a[0], 0);
  check_factors_in_tiles(call.b(), call.scaled.scale_b[0], 1);
  if (!is_packed(call.a().scalar_type())) {
    TORCH_CHECK_VALUE(!has_groups(call.a()),
                      "MXFP8 grouped GEMM currently only supports 2d-2d and 2d-3d cases");
    const auto is_swizzled = [](const std::vector<std::int64_t>& swizzle) {
      return !swizzle.empty() && swizzle[0] == kSwizzledGroups;
    };
    TORCH_CHECK_VALUE(!call.scaled.second || (is_swizzled(call.scaled.swizzle_a) &&
                                              is_swizzled(call.scaled.swizzle_b)),
                      "For CUDA MXFP8 grouped gemm, both scale swizzle types must be "
                      "SWIZZLE_32_4_4");
  } else {
    TORCH_CHECK(!has_groups(call.a()),
                "Invalid input dimensions. MXFP4/NVFP4 grouped GEMM currently only supports 2D-2D "
                "and 2D-3D inputs.");
  }
  // The kernels are for 10.0 alone, and CUTLASS cannot start them elsewhere.
  TORCH_CHECK(profile.major == 10,
              "Failed to initialize CUTLASS Grouped GEMM kernel due to internal error.");
}

void check_offsets(const GroupedCall& call) {
  const bool ragged = !has_groups(call.a()) || !has_groups(call.b());
  TORCH_CHECK_VALUE(call.offsets.defined() == ragged,
                    "Have to provide offsets if there is a 2d matrix");
  if (!call.offsets.defined()) return;
  TORCH_CHECK_VALUE(call.offsets.dim() == 1, "offs has to be 1D");
  TORCH_CHECK_VALUE(call.offsets.scalar_type() == at::kInt, "Offsets have to be int32");
}

void check_grouped_contraction(const GroupedCall& call) {
  const Tensor& a = call.a();
  const Tensor& b = call.b();
  if (call.adds_over_groups()) return;
  const auto& dims = call.scaled.contraction;
  if (dims.empty()) {
    TORCH_CHECK_VALUE(a.size(-1) == b.size(-2),
                      "contraction dimension of mat_a and mat_b must match");
    return;
  }
  TORCH_CHECK_VALUE(dims.size() == 2, "contraction_dim must have exactly 2 elements");
  TORCH_CHECK_VALUE(a.size(dims[0]) == b.size(dims[1]), "Contraction dimensions (", dims[0], ",",
                    dims[1], ") of mat_a and mat_b must match, got: ", a.size(dims[0]), " and ",
                    b.size(dims[1]));
  TORCH_CHECK_VALUE(dims[0] == -1 && dims[1] == -2,
                    "Curently contraction dims must be (-1, -2) only");
}

}  // namespace

GroupedCall GroupedCall::without_factors(const IValue* arguments) {
  GroupedCall call;
  call.scaled.a = arguments[0].toTensor();
  call.scaled.b = arguments[1].toTensor();
  call.offsets = grouped_tensor(arguments[2]);
  call.scaled.bias = grouped_tensor(arguments[3]);
  call.scaled.type = grouped_type(arguments[4]);
  return call;
}

GroupedCall GroupedCall::first_form(const IValue* arguments) {
  GroupedCall call;
  call.scaled.a = arguments[0].toTensor();
  call.scaled.b = arguments[1].toTensor();
  call.scaled.scale_a = {arguments[2].toTensor()};
  call.scaled.scale_b = {arguments[3].toTensor()};
  call.offsets = grouped_tensor(arguments[4]);
  call.scaled.bias = grouped_tensor(arguments[5]);
  call.scaled.scale_result = grouped_tensor(arguments[6]);
  call.scaled.type = grouped_type(arguments[7]);
  call.scaled.fast = arguments[8].toBool();
  return call;
}

GroupedCall GroupedCall::second_form(const IValue* arguments) {
  GroupedCall call;
  call.scaled.second = true;
  call.scaled.a = arguments[0].toTensor();
  call.scaled.b = arguments[1].toTensor();
  call.scaled.scale_a = arguments[2].toTensorVector();
  call.scaled.recipe_a = arguments[3].toIntVector();
  call.scaled.swizzle_a = arguments[4].toIntVector();
  call.scaled.scale_b = arguments[5].toTensorVector();
  call.scaled.recipe_b = arguments[6].toIntVector();
  call.scaled.swizzle_b = arguments[7].toIntVector();
  call.offsets = grouped_tensor(arguments[8]);
  call.scaled.bias = grouped_tensor(arguments[9]);
  call.scaled.type = grouped_type(arguments[10]);
  call.scaled.contraction = arguments[11].toIntVector();
  call.scaled.fast = arguments[12].toBool();
  return call;
}

bool is_by_cutlass(const GroupedCall& call, const devices::Profile& profile) {
  return (profile.major == 9 || profile.major == 10) && call.a().scalar_type() == at::kBFloat16 &&
         call.b().scalar_type() == at::kBFloat16;
}

void check_grouped(const GroupedCall& call) {
  const auto check_matrix = [](const Tensor& matrix, const char* name) {
    const ScalarType type = matrix.scalar_type();
    TORCH_CHECK(type == at::kBFloat16 || type == at::kFloat || type == at::kHalf, "Expected ", name,
                " to be Float32, BFloat16 or Float16 matrix, got ", type);
  };
  check_matrix(call.a(), "mat_a");
  check_matrix(call.b(), "mat_b");
  TORCH_CHECK(call.a().dim() == 2 || has_groups(call.a()), "mat_a has to be 2 or 3d");
  TORCH_CHECK(call.b().dim() == 2 || has_groups(call.b()), "mat_b has to be 2 or 3d");
  TORCH_CHECK(call.adds_over_groups() || call.a().size(-1) == call.b().size(-2),
              "contraction dimension of mat_a and mat_b must match");
  (void)is_transposed(call.a());
  (void)is_transposed(call.b());
  TORCH_CHECK(call.offsets.defined() == (!has_groups(call.a()) || !has_groups(call.b())),
              "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are "
              "3d");
  if (call.offsets.defined()) {
    TORCH_CHECK(call.offsets.dim() == 1, "offs has to be 1D");
    TORCH_CHECK(call.offsets.scalar_type() == at::kInt, "Offsets have to be int32");
  }
  TORCH_CHECK(!call.scaled.bias.defined(), "Bias not supported yet");
  TORCH_CHECK(call.scaled.type.value_or(call.a().scalar_type()) == call.a().scalar_type(),
              "Grouped gemm output dtype must match `mat_a` dtype");
}

void check_scaled_grouped(const GroupedCall& call, const devices::Profile& profile) {
  TORCH_CHECK_VALUE(profile.major == 9 || profile.major == 10,
                    "torch._scaled_grouped_mm is only supported on CUDA devices with compute "
                    "capability = [9.0, 10.0], or ROCm MI300+");
  TORCH_CHECK_VALUE(call.a().dim() == 2 || has_groups(call.a()), "mat_a has to be 2 or 3d");
  TORCH_CHECK_VALUE(call.b().dim() == 2 || has_groups(call.b()), "mat_b has to be 2 or 3d");
  TORCH_CHECK_VALUE(!is_transposed(call.a()), "Expected mat1 to not be transposed");
  TORCH_CHECK_VALUE(is_transposed(call.b()), "Expected mat2 to be transposed");
  check_grouped_contraction(call);
  TORCH_CHECK_VALUE(call.a().size(-1) % 16 == 0,
                    "Expected trailing dimension of mat_a to be divisible by 16 but got mat1 "
                    "shape: (",
                    call.a().sizes(), ").");
  TORCH_CHECK_VALUE(call.b().size(-2) % 16 == 0 && call.b().size(-1) % 16 == 0,
                    "Expected mat_b shape to be divisible by 16 but got mat_b shape: (",
                    call.b().sizes(), ").");
  TORCH_CHECK_VALUE(!call.scaled.bias.defined(), "Bias not supported yet");
  TORCH_CHECK_VALUE(!call.scaled.scale_result.defined(), "Scale result not supported yet");
  check_offsets(call);
  const Scaling scaling = grouped_scaling(call);
  // The first form looks at the factors before the type of the result.
  if (!call.scaled.second && scaling == Scaling::kRow) check_rows(call);
  TORCH_CHECK_VALUE(call.scaled.type.value_or(at::kBFloat16) == at::kBFloat16,
                    "Only bf16 high precision output types are supported for grouped gemm");
  if (scaling != Scaling::kRow) return check_tiles_of_groups(call, profile);
  check_rows(call);
  check_row_types(call);
}

Scaling grouped_scaling(const GroupedCall& call) {
  if (!call.scaled.second) {
    const ScalarType of_a = call.scaled.scale_a[0].scalar_type();
    const ScalarType of_b = call.scaled.scale_b[0].scalar_type();
    TORCH_CHECK_VALUE(of_a == of_b && (of_a == at::kFloat || of_a == at::kFloat8_e8m0fnu),
                      "For FP8 tensorwise and rowwise, both scales must both be float32 tensors. "
                      "For MXFP8, scales must both be float8_e8m0fnu tensors.");
    return of_a == at::kFloat ? Scaling::kRow : Scaling::kBlock1x32;
  }
  const auto found = find_recipe(call.scaled);
  const bool known =
      found && (found->first == Scaling::kRow || found->first == Scaling::kBlock1x32 ||
                (found->first == Scaling::kBlock1x16 && call.scaled.scale_a.size() == 2));
  TORCH_CHECK_VALUE(known, "No gemm implementation was found");
  return found->first;
}

Tensor grouped_result(const GroupedCall& call, ScalarType type) {
  const Tensor& a = call.a();
  const Tensor& b = call.b();
  const auto check_groups = [&](const Tensor& matrix) {
    TORCH_CHECK(call.offsets.size(0) == matrix.size(0), "matrix batch sizes have to match");
  };
  std::vector<std::int64_t> sizes;
  if (call.adds_over_groups()) {
    sizes = {call.offsets.size(0), a.size(0), b.size(1)};
  } else if (!has_groups(a)) {
    check_groups(b);
    sizes = {a.size(0), b.size(-1)};
  } else if (!has_groups(b)) {
    check_groups(a);
    sizes = {a.size(1), b.size(1)};
  } else {
    TORCH_CHECK(a.size(0) == b.size(0), "batched dimension has to match");
    sizes = {a.size(0), a.size(1), b.size(-1)};
  }
  const std::int64_t row =
      rounded_up(sizes.back(), 16 / static_cast<std::int64_t>(c10::elementSize(type)));
  std::vector<std::int64_t> strides = {row, 1};
  if (sizes.size() == 3) strides.insert(strides.begin(), sizes[1] * row);
  return at::empty_strided(sizes, strides, a.options().dtype(type));
}

}  // namespace torchport::vdev
