// The names in the messages are those of the dispatch macros in aten/src/ATen/native/cuda, as the
// libtorch_cuda.so of torch 2.12.1 has them; which types CUDA refuses is in PyTorch's own database
// of operators (`dtypesIfCUDA`), and in what an H200 with torch 2.11 said of each.
#include "runtime/virtual/operators/type_refusals.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/result_type.h>
#include <c10/util/SmallVector.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/type_checks.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

// aten::_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups, benchmark, deterministic, cudnn_enabled, ...) of integers. cuDNN has types of its own for
// some of them (cudnn/Types.cpp), but no engine.
void check_convolution(const IValue* arguments) {
  const Tensor& input = arguments[0].toTensor();
  const ScalarType type = input.scalar_type();
  if (computes_nothing(input) || !holds("ibwf", type)) return;
  const bool three = input.dim() == 5;
  const bool transposed = arguments[6].toBool();
  const auto dilation = arguments[5].toIntVector();
  const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](auto d) { return d != 1; });
  const std::int64_t groups = arguments[8].toInt();
  const bool depthwise = !transposed && groups > 1 && groups == input.size(1);
  if (depthwise && !three) refuse_type("conv_depthwise2d_forward_cuda", type);
  if (arguments[11].toBool()) {
    const bool known = type == at::kByte || type == at::kChar || type == at::kInt;
    TORCH_CHECK(!known, "GET was unable to find an engine to execute this computation");
    TORCH_CHECK(false, "getCudnnDataTypeFromScalarType() not supported for ", type);
  }
  if (transposed)
    refuse_type(three ? "slow_conv_transpose3d_out_cuda" : "slow_conv_transpose2d_out_cuda", type);
  refuse_type(three || dilated ? "slow_conv_dilated<>" : "slow_conv2d_cuda", type);
}

// aten::scatter_reduce.two(self, dim, index, src, reduce): bool and complex numbers are for sums
// only (ScatterGatherKernel.cu).
void check_scatter_reduce(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const std::string_view reduce = arguments[4].toStringView();
  if (computes_nothing(self) || reduce == "sum") return;
  if (holds("bc", self.scalar_type()))
    refuse_type("cuda_scatter_gather_base_kernel_func", self.scalar_type());
}

// aten::index_reduce(self, dim, index, source, reduce, *, include_self): a kernel of its own fills
// what is not included (index_reduce_func_cuda_impl in Indexing.cu). It warns before it refuses
// what has no order, and the host's kernel, which warns as well, does not come to it.
void check_index_reduce(const IValue* arguments) {
  if (at::globalContext().deterministicAlgorithms() &&
      !at::globalContext().deterministicAlgorithmsWarnOnly()) {
    TORCH_WARN_ONCE("index_reduce() is in beta and the API may change at any time.");
  }
  const Tensor& self = arguments[0].toTensor();
  if (!holds("bcxwf", self.scalar_type())) return;
  if (!arguments[5].toBool())
    refuse_type("index_reduce_func_cuda_exclude_input_init", self.scalar_type());
  if (!computes_nothing(self)) refuse_type("index_reduce", self.scalar_type());
}

// aten::median(self) and nanmedian: CUDA sorts the numbers, and takes one of those that are no NaN.
template <Text kKernel>
void check_median(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self)) return;
  TORCH_CHECK(!self.is_complex(), " Sort does not support complex dtypes on CPU");
  if (holds("w", self.scalar_type())) refuse_type(kKernel.text, self.scalar_type());
}

// aten::aminmax(self, *, dim, keepdim): without a dimension it is another kernel.
void check_aminmax(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || !arguments[1].isNone()) return;
  if (holds("cxwf", self.scalar_type())) refuse_type("aminmax_all_cuda", self.scalar_type());
}

// aten::histc(self, ...), as _histc_cuda in SummaryOps.cu.
void check_histc(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(self.scalar_type() != ScalarType::Half, "HalfTensor is not supported");
  if (holds("hbcxwf", self.scalar_type())) refuse_type("histc", self.scalar_type());
}

// aten::lu_factor_ex(A, ...) and lu: which library factors it (BatchLinearAlgebra.cpp, lu_factor).
void check_lu(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || self.dim() < 2 || !holds("ibhfwx", self.scalar_type())) return;
  const std::int64_t rows = self.size(-2);
  const std::int64_t batch = self.numel() / (rows * self.size(-1));
  const bool solver = batch == 1 || rows <= 16 || (rows <= 128 && batch <= 16);
  if (rows != self.size(-1) || !solver) refuse_type("lu_factor_magma_batched", self.scalar_type());
  refuse_type(batch == 1 || rows >= 512 ? "lu_factor_cusolver" : "lu_factor_cublas",
              self.scalar_type());
}

// aten::_linalg_svd(A, full_matrices, compute_uv, *, driver): which function of cuSOLVER computes
// it (svd_cusolver in BatchLinearAlgebraLib.cpp).
void check_svd(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || self.dim() < 2 || !holds("hfx", self.scalar_type())) return;
  constexpr std::int64_t kLargestOfBatch = 32;
  const std::string_view driver = arguments[3].isNone() ? "gesvdj" : arguments[3].toStringView();
  if (driver == "gesvd") refuse_type("svd_cuda_gesvd", self.scalar_type());
  if (driver == "gesvda") refuse_type("svd_cuda_gesvdaStridedBatched", self.scalar_type());
  if (driver != "gesvdj") return;
  const bool is_small = self.size(-2) <= kLargestOfBatch && self.size(-1) <= kLargestOfBatch;
  refuse_type(is_small ? "svd_cuda_gesvdjBatched" : "svd_cuda_gesvdj", self.scalar_type());
}

// The type in which CUDA's norms add up (toAccumulateType in AccumulateType.cpp).
void check_accumulated(const IValue* arguments) {
  if (!arguments[0].isTensor()) return;
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(computes_nothing(self) || !holds("wx", self.scalar_type()),
              "false INTERNAL ASSERT FAILED at "
              "\"/pytorch/aten/src/ATen/AccumulateType.cpp\":23, please report a bug to PyTorch. "
              "Unrecognized ScalarType: ",
              self.scalar_type());
}

// aten::_scaled_mm(self, mat2, ...): products of float8, which need tensor cores for them
// (_scaled_mm_out_cuda in Blas.cpp).
void check_scaled(const IValue* arguments) {
  const devices::Profile& profile = *Runtime::get().spec().profile;
  TORCH_CHECK(
      profile.major >= 9 || (profile.major == 8 && profile.minor >= 9),
      "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or "
      "8.9, or ROCm MI300+");
  TORCH_CHECK(arguments[0].toTensor().scalar_type() != ScalarType::Float8_e5m2 ||
                  arguments[1].toTensor().scalar_type() != ScalarType::Float8_e5m2,
              "Multiplication of two Float8_e5m2 matrices is not supported");
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(self.dim() != 2 || self.size(1) % 16 == 0,
              "Expected trailing dimension of mat1 to be divisible by 16 but got mat1 shape: (",
              self.size(0), "x", self.size(-1), ").");
}

// aten::_scaled_mm.out(..., *, out): cuBLASLt has no product with such a result.
void check_scaled_out(const IValue* arguments) {
  check_scaled(arguments);
  constexpr std::size_t kOut = 8;
  const ScalarType type = arguments[kOut].toTensor().scalar_type();
  TORCH_CHECK(
      holds("hf", type) || type == ScalarType::Float,
      "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmulAlgoGetHeuristic( "
      "ltHandle, computeDesc.descriptor(), Adesc.descriptor(), Bdesc.descriptor(), "
      "Cdesc.descriptor(), Ddesc.descriptor(), preference.descriptor(), 1, &heuristicResult, "
      "&returnedResult)`");
}

// aten::_int_mm(self, mat2[, out]): what cuBLAS takes (_int_mm_out_cuda in Blas.cpp).
void check_int_product(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& other = arguments[1].toTensor();
  TORCH_CHECK(self.dim() == 2, "Expected self to be of dimension 2 but got ", self.dim());
  TORCH_CHECK(other.dim() == 2, "Expected mat2 to be of dimension 2 but got ", other.dim());
  TORCH_CHECK(self.size(0) > 16, "self.size(0) needs to be greater than 16, but got ",
              self.size(0));
  TORCH_CHECK(self.size(1) > 0 && self.size(1) % 8 == 0,
              "self.size(1) needs to be greater than 0 and a multiple of 8, but got ",
              self.size(1));
  TORCH_CHECK(self.size(1) == other.size(0), "self.size(1) needs to match mat2.size(0) but got ",
              self.size(1), " and ", other.size(0));
  TORCH_CHECK(other.size(1) > 0 && other.size(1) % 8 == 0,
              "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got ",
              other.size(1));
}

// The sizes of a Fourier transform of half precision, after cuFFT's rule.
void check_signal(ScalarType type, c10::IntArrayRef sizes) {
  if (type != ScalarType::Half && type != ScalarType::ComplexHalf) return;
  const bool fits = std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) {
    return size > 0 && (size & (size - 1)) == 0;
  });
  TORCH_CHECK(fits,
              "cuFFT only supports dimensions whose sizes are powers of two when computing in half "
              "precision, but got a signal size of",
              sizes);
}

void check_fft(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self)) return;
  c10::SmallVector<std::int64_t, 4> sizes;
  for (const std::int64_t dim : arguments[1].toIntVector()) sizes.push_back(self.size(dim));
  check_signal(self.scalar_type(), sizes);
}

void check_fft_to_real(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self)) return;
  c10::SmallVector<std::int64_t, 4> sizes;
  for (const std::int64_t dim : arguments[1].toIntVector()) sizes.push_back(self.size(dim));
  if (!sizes.empty()) sizes.back() = arguments[3].toInt();
  check_signal(self.scalar_type(), sizes);
}

// aten::linalg_vector_norm(self, ord, dim, keepdim, ...): of single elements it is the absolute
// value (LinearAlgebra.cpp).
void check_vector_norm(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (!holds("f", self.scalar_type()) || arguments[1].toScalar().toDouble() == 0.0) return;
  const auto dims =
      arguments[2].isNone() ? std::vector<std::int64_t>() : arguments[2].toIntVector();
  const bool single = dims.empty() ? self.numel() == 1
                                   : std::all_of(dims.begin(), dims.end(),
                                                 [&](auto dim) { return self.size(dim) == 1; });
  if (single) refuse_type("abs_cuda", self.scalar_type());
}

// aten::index_select(self, dim, index, ...), as index_select_out_cuda_impl in Indexing.cu.
void check_index_select(const IValue* arguments) {
  const Tensor& index = arguments[2].toTensor();
  TORCH_CHECK(index.dim() <= 1, "Index is supposed to be an empty tensor or a vector");
  if (index.scalar_type() != at::kInt && index.scalar_type() != at::kLong)
    refuse_type("index_select_out_cuda_impl", index.scalar_type());
}

// aten::index_select.out(self, dim, index, *, out): the kernel is that of the result's type.
void check_index_select_out(const IValue* arguments) {
  check_index_select(arguments);
  const Tensor& self = arguments[0].toTensor();
  const Tensor& out = arguments[3].toTensor();
  TORCH_CHECK(out.scalar_type() == self.scalar_type(), "expected scalar type ", out.scalar_type(),
              " but found ", self.scalar_type());
}

// aten::nll_loss_forward(self, target, weight, reduction, ...): Loss.cu takes int64 and uint8.
void check_nll_loss(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& target = arguments[1].toTensor();
  if (target.dim() > 1 || computes_nothing(self)) return;
  const bool each = self.dim() == 2 && arguments[3].toInt() == 0;
  const std::string kernel = each              ? "nll_loss_forward_no_reduce_cuda_kernel"
                             : self.dim() == 1 ? "nll_loss_forward_reduce_cuda_kernel_1d"
                                               : "nll_loss_forward_reduce_cuda_kernel_2d";
  if (!self.is_floating_point() || holds("f", self.scalar_type()))
    refuse_type(kernel.c_str(), self.scalar_type());
  if (target.scalar_type() != at::kLong && target.scalar_type() != at::kByte)
    refuse_type((kernel + "_index").c_str(), target.scalar_type());
}

// aten::native_layer_norm(input, normalized_shape, weight, bias, eps): the kernel is that of the
// input's type.
void check_layer_norm(const IValue* arguments) {
  check_accumulated(arguments);
  check_type<0, "LayerNormKernelImpl", "f">(arguments);
  const Tensor& input = arguments[0].toTensor();
  if (computes_nothing(input) || !input.is_floating_point()) return;
  for (const std::size_t i : {2, 3}) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    const ScalarType type = arguments[i].toTensor().scalar_type();
    TORCH_CHECK(type == input.scalar_type(), "expected scalar type ", input.scalar_type(),
                " but found ", type);
  }
}

// aten::_fused_rms_norm(input, ...): torch composes the norm of complex numbers of others.
void check_rms_norm(const IValue* arguments) {
  check_accumulated(arguments);
  check_type<0, "LayerNormKernelImpl", "ibf">(arguments);
}

// aten::masked_fill(self, mask, value), as masked_fill__cuda in Indexing.cu.
void check_masked_fill(const IValue* arguments) {
  const Tensor& mask = arguments[1].toTensor();
  TORCH_CHECK(mask.scalar_type() == ScalarType::Bool,
              "masked_fill only supports boolean masks, but got dtype ", mask.scalar_type());
}

// aten::masked_scatter_(self, mask, source), as masked_scatter__cuda in IndexKernel.cpp.
void check_masked_scatter(const IValue* arguments) {
  const Tensor& mask = arguments[1].toTensor();
  TORCH_CHECK(mask.scalar_type() == ScalarType::Bool,
              "masked_scatter_ only supports boolean masks, but got mask with dtype ",
              mask.dtype());
}

// aten::nonzero.out(self, *, out), as nonzero_out_cuda in Nonzero.cu.
void check_nonzero_out(const IValue* arguments) {
  const Tensor& out = arguments[1].toTensor();
  TORCH_CHECK(out.scalar_type() == ScalarType::Long, "Expected object of scalar type ",
              ScalarType::Long, " as out, but got ", out.dtype());
}

// aten::log_sigmoid_forward.output(self, *, output, buffer): a TensorIterator of both.
void check_log_sigmoid_out(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& out = arguments[1].toTensor();
  TORCH_CHECK(self.scalar_type() == out.scalar_type(), "Found dtype ", out.scalar_type(),
              " but expected ", self.scalar_type());
}

// aten::max.unary_out(self, *, out) and min.unary_out (ReduceAllOps.cpp).
template <Text kKernel>
void check_extreme_out(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& out = arguments[1].toTensor();
  TORCH_CHECK(self.device() == out.device(),
              "Expected self.device() == out.device() to be true, but got false.  (Could this "
              "error message be improved?  If so, please report an enhancement request to "
              "PyTorch.)");
  TORCH_CHECK(out.scalar_type() == self.scalar_type() ||
                  !c10::canCast(self.scalar_type(), out.scalar_type()),
              kKernel.text, ": provided dtype must match dtype of result. Got ", out.scalar_type(),
              " and ", self.scalar_type(), ".");
}

// aten::median.dim(self, dim, ...), nanmedian.dim, kthvalue and topk: TensorInfo of TensorInfo.cuh.
void check_dimensions(const IValue* arguments) {
  constexpr std::int64_t kTooMany = 25;
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(computes_nothing(self) || self.dim() < kTooMany,
              "CUDA Tensors cannot have more than 25 dimensions");
}

// aten::mode.values(self, dim, keepdim, *, values, indices), as mode_kernel_impl in TensorMode.cpp.
void check_mode_out(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const auto check = [&](const Tensor& out, const char* name) {
    TORCH_CHECK(out.device() == self.device(), "expected device '", self.device(), "' but got '",
                out.device(), "' for ", name, " output");
  };
  check(arguments[3].toTensor(), "values");
  check(arguments[4].toTensor(), "indices");
}

// aten::native_batch_norm(input, weight, bias, running_mean, running_var, training, ...): without
// training the deviations are those of the layer (batch_norm_cuda_out in Normalization.cu).
void check_batch_norm(const IValue* arguments) {
  check_accumulated(arguments);
  if (!arguments[4].isTensor() || !arguments[5].isBool() || arguments[5].toBool()) return;
  const Tensor& variance = arguments[4].toTensor();
  if (variance.defined() && holds("ibcwf", variance.scalar_type()))
    refuse_type("batch_norm_invert_std_cuda", variance.scalar_type());
}

void check_training_batch_norm(const IValue* arguments) {
  check_batch_norm(arguments);
  check_type<0, "batch_norm_stats_cuda", "f">(arguments);
}

// aten::native_batch_norm.out(input, weight, bias, running_mean, running_var, training, momentum,
// eps, *, out, save_mean, save_invstd): statistics are of the type that sums have.
void check_batch_norm_out(const IValue* arguments) {
  check_accumulated(arguments);
  const Tensor& input = arguments[0].toTensor();
  if (!input.is_floating_point() || !arguments[5].toBool()) return;
  const ScalarType type =
      input.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
  const ScalarType mean = arguments[9].toTensor().scalar_type();
  const ScalarType deviation = arguments[10].toTensor().scalar_type();
  TORCH_CHECK(mean == type, "Expected out_mean to have type ", type, " but got ", mean);
  TORCH_CHECK(deviation == type, "Expected out_invstd to have type ", type, " but got ", deviation);
}

// By the operator's name without its overload, as out= variants take the same arguments first; a
// name with "." is for one overload alone.
// NOLINTNEXTLINE(readability-function-size): a table
const std::unordered_map<std::string_view, TypeCheck>& type_checks() {
  static const std::unordered_map<std::string_view, TypeCheck> kChecks = {
      {"aten::mm", &check_type<0, "addmm_cuda", "ibf">},
      {"aten::addmm", &check_type<1, "addmm_cuda", "ibf">},
      {"aten::addmm_", &check_type<1, "addmm_cuda", "ibf">},
      {"aten::addbmm", &check_type<1, "addmm_cuda", "ibf">},
      {"aten::addbmm_", &check_type<1, "addmm_cuda", "ibf">},
      {"aten::mv", &check_type<0, "addmv_impl_cuda", "ibf">},
      {"aten::addmv", &check_type<1, "addmv_impl_cuda", "ibf">},
      {"aten::addmv_", &check_type<1, "addmv_impl_cuda", "ibf">},
      {"aten::bmm", &check_type<0, "baddbmm_cuda", "ibf">},
      {"aten::baddbmm", &check_type<1, "baddbmm_cuda", "ibf">},
      {"aten::baddbmm_", &check_type<1, "baddbmm_cuda", "ibf">},
      {"aten::dot", &check_type<0, "dot", "ibf">},
      {"aten::vdot", &check_type<0, "dot", "ibf">},
      {"aten::_convolution", &check_convolution},
      {"aten::avg_pool2d", &check_type<0, "avg_pool2d_out_cuda_frame", "ib">},
      {"aten::avg_pool3d", &check_type<0, "avg_pool3d_out_cuda", "ib">},
      {"aten::max_pool2d_with_indices",
       &check_type<0, "max_pool2d_with_indices_out_cuda_frame", "ib">},
      {"aten::max_pool3d_with_indices", &check_type<0, "max_pool3d_with_indices_out_frame", "ib">},
      {"aten::upsample_bilinear2d", &check_type<0, "upsample_bilinear2d_out_frame", "u">},
      {"aten::upsample_bicubic2d", &check_type<0, "upsample_bicubic2d_out_frame", "u">},
      {"aten::_upsample_bilinear2d_aa", &check_type<0, "upsample_bilinear2d_out_frame", "u">},
      {"aten::_upsample_bicubic2d_aa", &check_type<0, "upsample_bilinear2d_out_frame", "u">},
      {"aten::igamma", &check_type<0, "igamma_cuda", "h">},
      {"aten::igammac", &check_type<0, "igammac_cuda", "h">},
      {"aten::angle", &check_type<0, "angle_cuda", "h">},
      {"aten::histc", &check_histc},
      {"aten::native_dropout_backward", &check_type<0, "masked_scale", "ibwfcx">},
      {"aten::roll", &check_type<0, "roll_cuda", "wf">},
      {"aten::bitwise_and", &check_common_type<"bitwise_and_cuda", "w">},
      {"aten::bitwise_and_", &check_common_type<"bitwise_and_cuda", "w">},
      {"aten::bitwise_or", &check_common_type<"bitwise_or_cuda", "w">},
      {"aten::bitwise_or_", &check_common_type<"bitwise_or_cuda", "w">},
      {"aten::bitwise_xor", &check_common_type<"bitwise_xor_cuda", "w">},
      {"aten::bitwise_xor_", &check_common_type<"bitwise_xor_cuda", "w">},
      {"aten::mul", &check_common_type<"mul_cuda", "wf">},
      {"aten::mul_", &check_common_type<"mul_cuda", "wf">},
      {"aten::index", &check_type<0, "index_cuda", "w">},
      {"aten::_unsafe_index", &check_type<0, "index_cuda", "w">},
      {"aten::masked_select", &check_type<0, "index_cuda", "w">},
      {"aten::abs", &check_type<0, "abs_cuda", "wf">},
      {"aten::abs_", &check_type<0, "abs_cuda", "wf">},
      {"aten::addcmul", &check_type<0, "addcmul_cuda", "x">},
      {"aten::addcmul_", &check_type<0, "addcmul_cuda", "x">},
      {"aten::minimum", &check_common_type<"minimum_cuda", "w">},
      {"aten::fmin", &check_common_type<"minimum_cuda", "w">},
      {"aten::var", &check_type<0, "std_cuda", "f">},
      {"aten::std", &check_type<0, "std_cuda", "f">},
      {"aten::var_mean", &check_type<0, "std_cuda", "f">},
      {"aten::std_mean", &check_type<0, "std_cuda", "f">},
      {"aten::aminmax", &check_aminmax},
      {"aten::median.", &check_median<"where_cuda">},
      {"aten::nanmedian.", &check_median<"index_cuda">},
      {"aten::linalg_lu", &check_lu},
      {"aten::linalg_lu_factor_ex", &check_lu},
      {"aten::_linalg_svd", &check_svd},
      {"aten::native_batch_norm", &check_training_batch_norm},
      {"aten::_native_batch_norm_legit", &check_training_batch_norm},
      {"aten::native_layer_norm", &check_layer_norm},
      {"aten::_fused_rms_norm", &check_rms_norm},
      {"aten::_embedding_bag", &check_type<0, "embedding_bag_cuda", "ibwfcx">},
      {"aten::_embedding_bag_forward_only", &check_type<0, "embedding_bag_cuda", "ibwfcx">},
      {"aten::sort", &check_type<0, "sort", "wf">},
      {"aten::nan_to_num", &check_type<0, "nan_to_num", "x">},
      {"aten::signbit", &check_type<0, "signbit_cuda", "w">},
      {"aten::clamp_max", &check_common_type<"minimum_cuda", "w">},
      {"aten::clamp_max_", &check_common_type<"minimum_cuda", "w">},
      {"aten::linalg_matrix_exp", &check_type<0, "abs_cuda", "f">},
      {"aten::linalg_vector_norm", &check_vector_norm},
      {"aten::index_reduce", &check_index_reduce},
      {"aten::index_reduce_", &check_index_reduce},
      {"aten::index_select", &check_index_select},
      {"aten::index_select.out", &check_index_select_out},
      {"aten::nll_loss_forward", &check_nll_loss},
      {"aten::masked_fill", &check_masked_fill},
      {"aten::masked_fill_", &check_masked_fill},
      {"aten::masked_scatter", &check_masked_scatter},
      {"aten::masked_scatter_", &check_masked_scatter},
      {"aten::nonzero.out", &check_nonzero_out},
      {"aten::log_sigmoid_forward.output", &check_log_sigmoid_out},
      {"aten::max.unary_out", &check_extreme_out<"max_all">},
      {"aten::min.unary_out", &check_extreme_out<"min_all">},
      {"aten::median.dim", &check_dimensions},
      {"aten::median.dim_values", &check_dimensions},
      {"aten::nanmedian.dim", &check_dimensions},
      {"aten::nanmedian.dim_values", &check_dimensions},
      {"aten::kthvalue", &check_dimensions},
      {"aten::topk", &check_dimensions},
      {"aten::mode.values", &check_mode_out},
      {"aten::native_batch_norm.out", &check_batch_norm_out},
      {"aten::_native_batch_norm_legit.out", &check_batch_norm_out},
      {"aten::scatter_reduce", &check_scatter_reduce},
      {"aten::scatter_reduce_", &check_scatter_reduce},
      {"aten::_int_mm", &check_int_product},
      {"aten::_scaled_mm", &check_scaled},
      {"aten::_scaled_mm.out", &check_scaled_out},
      {"aten::_scaled_mm_v2", &check_scaled},
      {"aten::_fft_r2c", &check_fft},
      {"aten::_fft_c2c", &check_fft},
      {"aten::_fft_c2r", &check_fft_to_real},
  };
  return kChecks;
}

}  // namespace

TypeCheck refusal_of(const c10::OperatorName& name) {
  const auto& checks = type_checks();
  auto found = checks.find(name.name + "." + name.overload_name);
  if (found == checks.end()) found = checks.find(name.name);
  return found == checks.end() ? nullptr : found->second;
}

}  // namespace torchport::vdev
