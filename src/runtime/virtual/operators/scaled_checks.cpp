// What _scaled_mm and _scaled_mm_v2 refuse on a device: after ScaledBlas.cpp, RowwiseScaledMM.cu
// (check_inputs) and get_scale_mode in aten/src/ATen/cuda/CUDABlas.cpp. What cuBLASLt has no
// product for is in its documentation ("cublasLtMatmul") and in PyTorch's test_float8_basics.
#include <algorithm>
#include <string>

#include <c10/util/Exception.h>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/operators/scaled_factor_checks.h"
#include "runtime/virtual/operators/scaled_recipes.h"
#include "runtime/virtual/operators/scaled_values.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;

constexpr long kFirstWithTiles = 12080;
constexpr long kFirstWithRows = 12090;
constexpr std::int64_t kAligned = 16;

// _scaled_mm raises the general error, _scaled_mm_v2 a ValueError.
template <class... Parts>
void expect(const ScaledCall& call, bool holds, const Parts&... parts) {
  if (holds) return;
  const std::string text = c10::str(parts...);
  TORCH_CHECK_VALUE(!call.second, text);
  TORCH_CHECK(false, text);
}

std::string by(const Tensor& matrix) {
  return c10::str(matrix.size(0), "x", matrix.size(1));
}

void check_matrices(const ScaledCall& call) {
  expect(call, call.a.dim() == 2, call.second ? "mat_a" : "mat1", " must be a matrix");
  expect(call, call.b.dim() == 2, call.second ? "mat_b" : "mat2", " must be a matrix");
}

void check_contraction(const ScaledCall& call) {
  const char* names = call.second ? "mat_a and mat_b" : "mat1 and mat2";
  if (call.contraction.empty()) {
    expect(call, call.a.size(1) == call.b.size(0), names, " shapes cannot be multiplied (",
           by(call.a), " and ", by(call.b), ")");
    return;
  }
  expect(call, call.contraction.size() == 2, "contraction_dim must have exactly 2 elements");
  const std::int64_t of_a = call.contraction[0];
  const std::int64_t of_b = call.contraction[1];
  expect(call, call.a.size(of_a) == call.b.size(of_b), names, " shapes cannot be multiplied (",
         by(call.a), " and ", by(call.b), ") with contraction dims mat_a: ", of_a,
         ", mat_b: ", of_b);
}

void check_shapes(const ScaledCall& call) {
  const Tensor& a = call.a;
  const Tensor& b = call.b;
  const std::int64_t packed = call.second && is_packed(a.scalar_type()) ? 2 : 1;
  expect(call, !call.bias.defined() || call.bias.numel() == b.size(1), "Bias must be size ",
         b.size(1), " but got ", call.bias.defined() ? call.bias.numel() : 0);
  expect(call, packed * a.size(1) % kAligned == 0,
         "Expected trailing dimension of mat1 to be divisible by 16 but got mat1 shape: (",
         a.size(0), "x", packed * a.size(1), ").");
  expect(call, packed * b.size(0) % kAligned == 0 && b.size(1) % kAligned == 0, "mat2 shape (",
         by(b), ") must be divisible by 16");
}

void check_element_types(const ScaledCall& call) {
  const auto is_small = [](const Tensor& matrix) {
    return c10::isFloat8Type(matrix.scalar_type()) || is_packed(matrix.scalar_type());
  };
  expect(call, !call.type || *call.type == call.result_type(),
         "out_dtype must match output matrix type");
  expect(call, is_small(call.a), "Expected ", call.second ? "mat_a" : "mat1",
         " to be Float8 or Float4_x2 matrix got ", call.a.scalar_type());
  expect(call, is_small(call.b), "Expected ", call.second ? "mat_b" : "mat2",
         " to be Float8 or Float4_x2 matrix got ", call.b.scalar_type());
  TORCH_CHECK_VALUE(
      call.a.scalar_type() != at::kFloat8_e5m2 || call.b.scalar_type() != at::kFloat8_e5m2,
      "Multiplication of two Float8_e5m2 matrices is not supported");
  const bool packed = is_packed(call.a.scalar_type()) || is_packed(call.b.scalar_type());
  expect(call, !call.fast || !packed, "`use_fast_accum` is not supported when `",
         call.second ? "mat_a` or `mat_b" : "mat1` or `mat2",
         "` tensors have the `Float4_e2m1fn_x2` dtype.");
}

void check_bias(const ScaledCall& call) {
  if (!call.bias.defined()) return;
  const ScalarType type = call.bias.scalar_type();
  const ScalarType result = call.result_type();
  expect(call, result != at::kFloat, "Bias is not supported when out_dtype is set to Float32");
  expect(call, type == at::kBFloat16 || type == at::kHalf,
         "Bias must be BFloat16 or Half, but got ", type);
  expect(call, result != at::kBFloat16 || type == at::kBFloat16,
         "Bias must be BFloat16 to compute ", result, " output, but got ", type);
  expect(call, result != at::kHalf || type == at::kHalf, "Bias must be Float16 to compute ", result,
         " output, but got ", type);
}

// --- cuBLASLt

[[noreturn]] void refuse_by_cublas() {
  TORCH_CHECK(
      false,
      "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmulAlgoGetHeuristic( "
      "ltHandle, computeDesc.descriptor(), Adesc.descriptor(), Bdesc.descriptor(), "
      "Cdesc.descriptor(), Ddesc.descriptor(), preference.descriptor(), 1, &heuristicResult, "
      "&returnedResult)`");
}

// prepare_matrix_for_cublas in cuBlasCommonArgs.h; what is neither is copied into rows.
bool is_in_rows(const Tensor& matrix) {
  if (matrix.is_non_overlapping_and_dense()) return matrix.is_contiguous();
  return matrix.stride(0) != 1 || matrix.stride(1) < std::max<std::int64_t>(1, matrix.size(0));
}

bool takes_layouts(const devices::Profile& profile, long cuda, bool a_in_rows, bool b_in_rows) {
  if (profile.major == 10 || profile.major == 11) return true;
  constexpr long kFirstWithBothRows = 13010;
  if (profile.major == 12 && (profile.minor == 1 || cuda >= kFirstWithBothRows)) return a_in_rows;
  return a_in_rows && !b_in_rows;
}

// Rows or columns start at multiples of 16 bytes; what has gaps between elements is copied.
bool is_aligned(const Tensor& matrix, bool in_rows) {
  const std::int64_t inner = in_rows ? 1 : 0;
  return matrix.stride(inner) != 1 || matrix.size(1 - inner) <= 1 ||
         matrix.stride(1 - inner) % kAligned == 0;
}

void check_scale_mode(Scaling scaling, bool fast, long cuda) {
  const auto newer = [&](long first, const char* what, const char* release) {
    TORCH_CHECK(cuda >= first, "scaled_gemm with ", what, " is only supported for CUDA ", release,
                " and above");
  };
  switch (scaling) {
    case Scaling::kBlock1x32:
      return newer(kFirstWithTiles, "`torch.float8_e8m0fnu` scales of 1x32 blocks", "12.8");
    case Scaling::kBlock1x16:
      return newer(kFirstWithTiles, "`torch.float8_e4m3fn` scales of 1x16 blocks", "12.8");
    case Scaling::kBlock1x128:
      TORCH_CHECK(!fast, "scaled_gemm doesn't support fast accum with 1x128 blockwise scaling");
      return newer(kFirstWithRows, "1x128 blockwise scaling", "12.9");
    case Scaling::kBlock128x128:
      TORCH_CHECK(!fast, "scaled_gemm doesn't support fast accum with 128x128 blockwise scaling");
      return newer(kFirstWithRows, "128x128 blockwise scaling", "12.9");
    case Scaling::kTensor:
    case Scaling::kRow:
      return;
  }
}

void check_cublas_type(ScalarType type) {
  TORCH_CHECK(type != ScalarType::Float8_e4m3fnuz && type != ScalarType::Float8_e5m2fnuz,
              "false INTERNAL ASSERT FAILED at "
              "\"/pytorch/aten/src/ATen/cuda/CUDADataType.h\":101, please report a bug to PyTorch. "
              "Cannot convert ScalarType ",
              type, " to cudaDataType.");
}

bool has_product(const ScaledCall& call, Scaling scaling, const devices::Profile& profile) {
  const ScalarType result = call.result_type();
  const ScalarType a = call.a.scalar_type();
  const ScalarType b = call.b.scalar_type();
  const auto is_multiplied = [](ScalarType type) {
    return type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2 || is_packed(type);
  };
  if (!is_multiplied(a) || !is_multiplied(b)) return false;
  const bool wide = result == at::kFloat || result == at::kHalf || result == at::kBFloat16;
  switch (scaling) {
    case Scaling::kTensor:
      return wide || result == at::kFloat8_e4m3fn ||
             (result == at::kFloat8_e5m2 && (a == at::kFloat8_e5m2 || b == at::kFloat8_e5m2));
    case Scaling::kRow:
    case Scaling::kBlock1x128:
    case Scaling::kBlock128x128:
      return wide && profile.major == 9;
    case Scaling::kBlock1x32:
      return wide && profile.major >= 10 && !is_packed(a);
    case Scaling::kBlock1x16:
      return wide && profile.major >= 10;
  }
  return false;
}

void check_cublas(const ScaledCall& call, const Scalings& scalings, const devices::Profile& profile,
                  long cuda) {
  const bool a_in_rows = is_in_rows(call.a);
  const bool b_in_rows = is_in_rows(call.b);
  const bool usual = a_in_rows && !b_in_rows;
  TORCH_CHECK(profile.major != 9 || usual,
              "Only multiplication of row-major and column-major matrices is supported by "
              "cuBLASLt");
  for (const ScalarType type : {call.b.scalar_type(), call.a.scalar_type(), call.result_type()})
    check_cublas_type(type);
  // cuBLAS's first matrix is the second one, for a result in rows.
  check_scale_mode(scalings.second, call.fast, cuda);
  check_scale_mode(scalings.first, call.fast, cuda);
  const bool packed = is_packed(call.a.scalar_type());
  const bool layouts = packed ? usual : takes_layouts(profile, cuda, a_in_rows, b_in_rows);
  if (!layouts || !is_aligned(call.a, a_in_rows) || !is_aligned(call.b, b_in_rows) ||
      !has_product(call, scalings.first, profile))
    refuse_by_cublas();
}

// --- Rows by CUTLASS, where cuBLASLt does not have them

void check_condition(bool holds, const char* condition) {
  TORCH_CHECK(holds, "Expected ", condition,
              " to be true, but got false.  (Could this error message be improved?  If so, please "
              "report an enhancement request to PyTorch.)");
}

void check_cutlass(const ScaledCall& call, const devices::Profile& profile) {
  const ScalarType result = call.result_type();
  const bool half = result == at::kHalf && kRowsGiveHalf;
  const bool single = result == at::kFloat && kRowsGiveFloat;
  constexpr const char* kTypes = kRowsGiveFloat  ? "bf16, fp16, and fp32"
                                 : kRowsGiveHalf ? "bf16 and fp16"
                                                 : "bf16";
  TORCH_CHECK_VALUE(result == at::kBFloat16 || half || single, "Only ", kTypes,
                    " high precision output types are supported for row-wise scaling.");
  const ScalarType a = call.a.scalar_type();
  check_condition(a == at::kFloat8_e4m3fn || a == at::kFloat8_e5m2,
                  "a.dtype() == at::kFloat8_e4m3fn || a.dtype() == at::kFloat8_e5m2");
  check_condition(call.b.scalar_type() == at::kFloat8_e4m3fn, "b.dtype() == at::kFloat8_e4m3fn");
  check_condition(call.a.stride(1) == 1, "a.stride(1) == 1");
  check_condition(call.a.stride(0) >= call.a.size(1), "a.stride(0) >= a.size(1)");
  check_condition(call.b.stride(0) == 1, "b.stride(0) == 1");
  check_condition(call.b.stride(1) >= call.b.size(0), "b.stride(1) >= b.size(0)");
  if (call.bias.defined()) {
    check_condition(call.bias.dim() == 1, "bias->dim() == 1");
    check_condition(call.bias.stride(0) == 1, "bias->stride(0) == 1");
  }
  const bool known =
      (profile.major == 8 && profile.minor == 9) || (profile.major >= 9 && profile.major <= 12);
  TORCH_CHECK(known, "Rowwise scaling is not currently supported on your device");
}

}  // namespace

void check_scaled_call(const ScaledCall& call, const devices::Profile& profile) {
  constexpr const char* kDevices =
      "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, "
      "or ROCm MI300+";
  const bool has_eights = profile.major >= 9 || (profile.major == 8 && profile.minor == 9);
  TORCH_CHECK_NOT_IMPLEMENTED(has_eights || !call.second, kDevices);
  TORCH_CHECK(has_eights, kDevices);
  check_matrices(call);
  // The second form returns before it looks at the factors.
  if (call.second && call.has_no_product()) return;
  check_contraction(call);
  Scalings scalings;
  if (!call.second) {
    scalings = scalings_by_shape(call);
    TORCH_CHECK(!call.scale_result.defined() || (call.scale_result.numel() == 1 &&
                                                 call.scale_result.scalar_type() == at::kFloat),
                "scale_result must be a float scalar");
  }
  check_shapes(call);
  check_element_types(call);
  check_bias(call);
  if (call.has_no_product()) return;
  const long cuda = cuda_build_for(profile.major, profile.minor).cuda;
  if (call.second) {
    scalings = scalings_by_recipe(call);
    check_factors(call, scalings, profile, cuda);
  }
  const bool by_rows = scalings.first == Scaling::kRow;
  if (by_rows && (profile.major != 9 || cuda < kFirstWithRows)) return check_cutlass(call, profile);
  // MXFP4 is not cuBLAS's.
  if (call.second && scalings.first == Scaling::kBlock1x32 && is_packed(call.a.scalar_type()))
    return;
  check_cublas(call, scalings, profile, cuda);
}

}  // namespace torchport::vdev
