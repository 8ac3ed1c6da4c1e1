// What _scaled_mm_v2 refuses of factors once it knows the recipe: the functions for each recipe in
// aten/src/ATen/native/cuda/ScaledBlas.cpp.
#include "runtime/virtual/operators/scaled_factor_checks.h"

#include <c10/util/Exception.h>

#include "runtime/virtual/operators/scaled_values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

constexpr std::int64_t kSwizzled = 1;  // SwizzleType::SWIZZLE_32_4_4

void check_tensor_factors(const ScaledCall& call) {
  TORCH_CHECK_VALUE(call.scale_a[0].numel() == 1, "scale_a must have 1 Float element");
  TORCH_CHECK_VALUE(call.scale_b[0].numel() == 1, "scale_b must have 1 Float element");
}

void check_row_factors(const ScaledCall& call) {
  const Tensor& a = call.scale_a[0];
  const Tensor& b = call.scale_b[0];
  const std::int64_t m = call.a.size(0);
  const std::int64_t n = call.b.size(1);
  TORCH_CHECK_VALUE(a.size(0) == m && a.size(1) == 1, "scale_a must have shape [", m, ", 1], got [",
                    a.sizes(), "]");
  TORCH_CHECK_VALUE(a.numel() == m, "scale_a must have ", m, " Float elements, got ", a.numel());
  TORCH_CHECK_VALUE(b.numel() == n, "scale_b must have ", n, " Float elements, got ", b.numel());
  TORCH_CHECK_VALUE(b.stride(1) == 1, "expected scale_b.stride(1) to be 1, but got ", b.stride(1));
}

// Factors [size of 1x128, blocks of k] or [blocks of k, rounded up to 4; blocks of the size].
void check_block_factors(const Tensor& scale, const char* name, Scaling scaling, std::int64_t size,
                         std::int64_t k, bool both_of_rows) {
  const bool of_rows = scaling == Scaling::kBlock1x128;
  const std::int64_t blocks = blocks_of(k, 128);
  const std::int64_t rows = of_rows ? size : rounded_up(blocks, 4);
  const std::int64_t columns = of_rows ? blocks : blocks_of(size, 128);
  TORCH_CHECK_VALUE(scale.size(0) == rows && scale.size(1) == columns, name, " must have shape ",
                    rows, " x ", columns, " Float elements, got ", scale.sizes());
  const bool fits = scale.stride(0) == 1 &&
                    (scale.stride(1) == rows || (scale.size(1) == 1 && scale.stride(1) == 1));
  TORCH_CHECK_VALUE(fits, name, both_of_rows ? " strides must be (1, " : " must have strides (1, ",
                    rows, both_of_rows ? "); got: " : "); got ", scale.strides());
}

void check_tiles(const ScaledCall& call, std::int64_t block) {
  const std::int64_t packed = is_packed(call.a.scalar_type()) ? 2 : 1;
  const auto check_count = [&](const Tensor& scale, const char* name, std::int64_t rows,
                               std::int64_t k) {
    const std::int64_t count = rounded_up(rows, 128) * rounded_up(blocks_of(k * packed, block), 4);
    TORCH_CHECK_VALUE(scale.numel() == count, "For Blockwise scaling ", name, " should have ",
                      count, " elements, got: ", scale.numel());
  };
  check_count(call.scale_a[0], "scale_a", call.a.size(0), call.a.size(1));
  check_count(call.scale_b[0], "scale_b", call.b.size(1), call.b.size(0));
  TORCH_CHECK_VALUE(call.swizzle_a[0] == kSwizzled,
                    "scale_a must be swizzled to SWIZZLE_32_4_4 format");
  TORCH_CHECK_VALUE(call.swizzle_b[0] == kSwizzled,
                    "scale_b must be swizzled to SWIZZLE_32_4_4 format");
  TORCH_CHECK_VALUE(call.scale_a[0].is_contiguous() && call.scale_b[0].is_contiguous(),
                    "For Blockwise scaling both scales should be contiguous");
}

void check_swizzles(const ScaledCall& call) {
  const std::size_t count = call.recipe_a.size();
  const char* plural = count == 1 ? "" : "s";
  TORCH_CHECK_VALUE(call.swizzle_a.size() == count, "swizzle_a must have ", count, " value", plural,
                    ", got ", call.swizzle_a.size());
  TORCH_CHECK_VALUE(call.swizzle_b.size() == count, "swizzle_b must have ", count, " value", plural,
                    ", got ", call.swizzle_b.size());
}

}  // namespace

void check_factors(const ScaledCall& call, const Scalings& scalings,
                   const devices::Profile& profile, long cuda) {
  switch (scalings.first) {
    case Scaling::kTensor:
      return check_tensor_factors(call);
    case Scaling::kRow:
      return check_row_factors(call);
    case Scaling::kBlock1x128:
    case Scaling::kBlock128x128: {
      TORCH_CHECK_NOT_IMPLEMENTED(
          profile.major == 9,
          "DeepSeek style (1x128, 128x128) scaling only supported in CUDA for SM90");
      TORCH_CHECK_NOT_IMPLEMENTED(
          cuda >= 12090, "DeepSeek style (1x128, 128x128) scaling requires cublasLt >= 12.9");
      const bool both_of_rows = scalings.first == scalings.second;
      check_block_factors(call.scale_a[0], "scale_a", scalings.first, call.a.size(0),
                          call.a.size(1), both_of_rows);
      return check_block_factors(call.scale_b[0], "scale_b", scalings.second, call.b.size(1),
                                 call.a.size(1), both_of_rows);
    }
    case Scaling::kBlock1x32:
      check_swizzles(call);
      TORCH_CHECK_NOT_IMPLEMENTED(!is_packed(call.a.scalar_type()) || profile.major == 10,
                                  "MXFP4 scaling only supported in CUDA for B200/B300");
      return check_tiles(call, 32);
    case Scaling::kBlock1x16:
      check_swizzles(call);
      return check_tiles(call, 16);
  }
}

}  // namespace torchport::vdev
