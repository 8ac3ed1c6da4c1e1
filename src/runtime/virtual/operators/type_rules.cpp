// The names in the messages are those of the dispatch macros in aten/src/ATen/native/cuda, as the
// libtorch_cuda.so of torch 2.12.1 has them; which types CUDA refuses is in PyTorch's own database
// of operators (`dtypesIfCUDA`).
#include "runtime/virtual/operators/type_rules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/half_products.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

// A kernel that has nothing to compute ends before it looks at the type.
bool computes_nothing(const Tensor& tensor) {
  return !tensor.defined() || tensor.numel() == 0;
}

[[noreturn]] void refuse_type(const char* kernel, ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, '"', kernel, "\" not implemented for '", c10::toString(type),
                              "'");
}

// A text as an argument of a template.
template <std::size_t kSize>
struct Text {
  constexpr Text(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
  char text[kSize];
};

// Whether a type is one of these kinds: i for integers, u for uint8 alone, b for bool, h for
// float16 and bfloat16, f for those of 8 bits.
bool holds(std::string_view kinds, ScalarType type) {
  const auto has = [&](char kind) { return kinds.find(kind) != std::string_view::npos; };
  switch (type) {
    case ScalarType::Byte:
      return has('i') || has('u');
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
      return has('i');
    case ScalarType::Bool:
      return has('b');
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return has('h');
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e4m3fnuz:
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e5m2fnuz:
      return has('f');
    default:
      return false;
  }
}

// Refuses the types of `kKinds` for the argument with this index.
template <std::size_t kIndex, Text kKernel, Text kKinds>
void check_type(const IValue* arguments) {
  if (!arguments[kIndex].isTensor()) return;
  const Tensor& tensor = arguments[kIndex].toTensor();
  if (!computes_nothing(tensor) && holds(kKinds.text, tensor.scalar_type()))
    refuse_type(kKernel.text, tensor.scalar_type());
}

// aten::_convolution(input, weight, bias, stride, padding, dilation, transposed, ...): which kernel
// computes it without cuDNN, which takes floating types only.
void check_convolution(const IValue* arguments) {
  const Tensor& input = arguments[0].toTensor();
  if (computes_nothing(input) || !holds("ib", input.scalar_type())) return;
  const bool three = input.dim() == 5;
  const bool transposed = arguments[6].toBool();
  const auto dilation = arguments[5].toIntVector();
  const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](auto d) { return d != 1; });
  const std::int64_t groups = arguments[8].toInt();
  const bool depthwise = !transposed && groups > 1 && groups == input.size(1);
  if (transposed)
    refuse_type(three ? "slow_conv_transpose3d_out_cuda" : "slow_conv_transpose2d_out_cuda",
                input.scalar_type());
  if (depthwise && !three) refuse_type("conv_depthwise2d_forward_cuda", input.scalar_type());
  refuse_type(three || dilated ? "slow_conv_dilated<>" : "slow_conv2d_cuda", input.scalar_type());
}

// aten::scatter_reduce.two(self, dim, index, src, reduce): bool is for sums only.
void check_scatter_reduce(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || self.scalar_type() != ScalarType::Bool) return;
  if (arguments[4].toStringView() != "sum")
    refuse_type("cuda_scatter_gather_base_kernel_func", self.scalar_type());
}

// aten::_scaled_mm(self, mat2, ...): products of float8, which need tensor cores for them.
void check_scaled(const IValue* arguments) {
  const devices::Profile& profile = *Runtime::get().spec().profile;
  TORCH_CHECK(
      profile.major >= 9 || (profile.major == 8 && profile.minor >= 9),
      "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or "
      "8.9, or ROCm MI300+");
  TORCH_CHECK(arguments[0].toTensor().scalar_type() != ScalarType::Float8_e5m2 ||
                  arguments[1].toTensor().scalar_type() != ScalarType::Float8_e5m2,
              "Multiplication of two Float8_e5m2 matrices is not supported");
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

// By the operator's name without its overload: out= variants take the same arguments first.
const std::unordered_map<std::string_view, TypeCheck>& type_checks() {
  static const std::unordered_map<std::string_view, TypeCheck> kChecks = {
      {"aten::mm", &check_type<0, "addmm_cuda", "ibf">},
      {"aten::addmm", &check_type<1, "addmm_cuda", "ibf">},
      {"aten::addmm_", &check_type<1, "addmm_cuda", "ibf">},
      {"aten::addbmm", &check_type<1, "baddbmm_cuda", "ibf">},
      {"aten::addbmm_", &check_type<1, "baddbmm_cuda", "ibf">},
      {"aten::mv", &check_type<0, "addmv_impl_cuda", "ibf">},
      {"aten::addmv", &check_type<1, "addmv_impl_cuda", "ibf">},
      {"aten::addmv_", &check_type<1, "addmv_impl_cuda", "ibf">},
      {"aten::bmm", &check_type<0, "baddbmm_cuda", "ibf">},
      {"aten::baddbmm", &check_type<1, "baddbmm_cuda", "ibf">},
      {"aten::baddbmm_", &check_type<1, "baddbmm_cuda", "ibf">},
      {"aten::dot", &check_type<0, "dot", "ibf">},
      {"aten::vdot", &check_type<0, "vdot", "ibf">},
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
      {"aten::histc", &check_type<0, "histc", "hb">},
      {"aten::native_dropout_backward", &check_type<0, "masked_scale", "ib">},
      {"aten::scatter_reduce", &check_scatter_reduce},
      {"aten::scatter_reduce_", &check_scatter_reduce},
      {"aten::_int_mm", &check_int_product},
      {"aten::_scaled_mm", &check_scaled},
      {"aten::_scaled_mm_v2", &check_scaled},
      {"aten::_fft_r2c", &check_fft},
      {"aten::_fft_c2c", &check_fft},
      {"aten::_fft_c2r", &check_fft_to_real},
  };
  return kChecks;
}

// What CUDA computes and the CPU refuses, by the operator's name without its overload.
const std::unordered_map<std::string_view, TypeSet>& widened_types() {
  constexpr TypeSet kComplex = type_set(ScalarType::ComplexHalf);
  constexpr TypeSet kHalf = type_set(ScalarType::Half);
  constexpr TypeSet kHalves = type_set(ScalarType::Half, ScalarType::BFloat16);
  constexpr TypeSet kBool = type_set(ScalarType::Bool);
  static const std::unordered_map<std::string_view, TypeSet> kTypes = {
      {"aten::abs", kBool},
      {"aten::acos", kComplex},
      {"aten::acosh", kComplex},
      {"aten::angle", kComplex},
      {"aten::asin", kComplex},
      {"aten::asinh", kComplex},
      {"aten::atan", kComplex},
      {"aten::atanh", kComplex},
      {"aten::cos", kComplex},
      {"aten::cosh", kComplex},
      {"aten::div", kComplex},
      {"aten::exp", kComplex},
      {"aten::lerp", kComplex},
      {"aten::log", kComplex},
      {"aten::logaddexp", kComplex},
      {"aten::pow", kComplex},
      {"aten::prod", kComplex},
      {"aten::rsqrt", kComplex},
      {"aten::sigmoid", kComplex},
      {"aten::sigmoid_backward", kComplex},
      {"aten::sin", kComplex},
      {"aten::sinh", kComplex},
      {"aten::sqrt", kComplex},
      {"aten::sum", kComplex},
      {"aten::tan", kComplex},
      {"aten::tanh", kComplex},
      {"aten::tanh_backward", kComplex},
      {"aten::trace", kComplex | kBool},
      {"aten::_fft_c2c", kComplex},
      {"aten::_fft_c2r", kComplex},
      {"aten::_fft_r2c", kHalf},
      {"aten::avg_pool3d", kHalves},
      {"aten::avg_pool3d_backward", kHalves},
      {"aten::multi_margin_loss", kHalves},
      {"aten::multi_margin_loss_backward", kHalves},
      {"aten::multilabel_margin_loss_backward", kHalves},
      {"aten::multilabel_margin_loss_forward", kHalves},
      {"aten::rrelu_with_noise", kHalf},
      {"aten::rrelu_with_noise_backward", kHalf},
      {"aten::_upsample_bicubic2d_aa", kHalves},
      {"aten::_upsample_bicubic2d_aa_backward", kHalves},
      {"aten::_upsample_bilinear2d_aa", kHalves},
      {"aten::_upsample_bilinear2d_aa_backward", kHalves},
  };
  return kTypes;
}

// The same for sparse tensors, beyond those: cuSPARSE multiplies half precision, MKL does not
// (SparseBlasImpl.cpp, SparseCUDATensorMath.cu).
const std::unordered_map<std::string_view, TypeSet>& widened_sparse_types(c10::DispatchKey cpu) {
  constexpr TypeSet kComplex = type_set(ScalarType::ComplexHalf);
  constexpr TypeSet kHalves = type_set(ScalarType::Half, ScalarType::BFloat16);
  static const std::unordered_map<std::string_view, TypeSet> kCoordinates = {
      {"aten::_coalesce", kComplex},           {"aten::_sparse_sparse_matmul", kHalves},
      {"aten::_to_dense", kHalves | kComplex}, {"aten::add", kHalves | kComplex},
      {"aten::sub", kHalves | kComplex},
  };
  static const std::unordered_map<std::string_view, TypeSet> kCompressed = {
      {"aten::addmm", kHalves}, {"aten::addmv", kHalves}, {"aten::baddbmm", kHalves},
      {"aten::bmm", kHalves},   {"aten::mm", kHalves},    {"aten::mv", kHalves},
  };
  return cpu == c10::DispatchKey::SparseCPU ? kCoordinates : kCompressed;
}

TypeSet types_of(const std::unordered_map<std::string_view, TypeSet>& types,
                 const c10::OperatorName& name) {
  // In place or not: the types are the same.
  std::string_view base = name.name;
  if (base.ends_with('_')) base.remove_suffix(1);
  const auto found = types.find(base);
  return found == types.end() ? TypeSet{0} : found->second;
}

}  // namespace

TypeRules type_rules_of(const c10::OperatorName& name, c10::DispatchKey cpu) {
  TypeRules rules;
  if (cpu == c10::DispatchKey::CPU) rules.slow = computed_in_float32(name);
  if (Runtime::get().spec().kind != "cuda") return rules;
  const bool is_sparse =
      cpu == c10::DispatchKey::SparseCPU || cpu == c10::DispatchKey::SparseCsrCPU;
  if (cpu == c10::DispatchKey::CPU || is_sparse) rules.widened = types_of(widened_types(), name);
  if (is_sparse) rules.widened |= types_of(widened_sparse_types(cpu), name);
  if (cpu != c10::DispatchKey::CPU) return rules;
  if (const auto found = type_checks().find(name.name); found != type_checks().end())
    rules.refuses = found->second;
  return rules;
}

bool is_missing_on_cuda(const c10::OperatorName& name) {
  static const std::unordered_set<std::string_view> kNames = {
      "aten::_add_relu",
      "aten::_add_relu_",
      "aten::_convert_weight_to_int4pack_for_cpu",
      "aten::_dyn_quant_matmul_4bit",
      "aten::_dyn_quant_pack_4bit_weight",
      "aten::_spdiags",
      "aten::_weight_int4pack_mm_for_cpu",
      "aten::histogram",
      "aten::slow_conv3d_forward",
      "aten::to_mkldnn",
      "aten::_histogramdd_bin_edges",
      "aten::_histogramdd_from_bin_cts",
      "aten::_histogramdd_from_bin_tensors"};
  return Runtime::get().spec().kind == "cuda" && kNames.contains(name.name);
}

void refuse_missing(const c10::OperatorName& name) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", name,
      "' with arguments from the 'CUDA' backend. This could be because the operator doesn't exist "
      "for "
      "this backend, or was omitted during the selective/custom build process (if using custom "
      "build). If you are a Facebook employee using PyTorch on mobile, please visit "
      "https://fburl.com/ptmfixes for possible resolutions.");
}

}  // namespace torchport::vdev
