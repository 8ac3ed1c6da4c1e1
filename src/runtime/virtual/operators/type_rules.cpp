// Which types CUDA computes is in PyTorch's own database of operators (`dtypesIfCUDA`), and in what
// an H200 with torch 2.11 said of each.
#include "runtime/virtual/operators/type_rules.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <c10/core/ScalarType.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/half_products.h"
#include "runtime/virtual/operators/type_refusals.h"

namespace torchport::vdev {

namespace {

using c10::ScalarType;

// What CUDA computes and the CPU refuses, by the operator's name without its overload; a name with
// "." is for one overload alone.
const std::unordered_map<std::string_view, TypeSet>& widened_types() {
  constexpr TypeSet kComplex = type_set(ScalarType::ComplexHalf);
  constexpr TypeSet kHalf = type_set(ScalarType::Half);
  constexpr TypeSet kHalves = type_set(ScalarType::Half, ScalarType::BFloat16);
  constexpr TypeSet kBool = type_set(ScalarType::Bool);
  constexpr TypeSet kEighths = type_set(ScalarType::Float8_e4m3fn, ScalarType::Float8_e4m3fnuz,
                                        ScalarType::Float8_e5m2, ScalarType::Float8_e5m2fnuz);
  constexpr TypeSet kWord = type_set(ScalarType::UInt16);
  // Kernels that move elements of any type with as many bytes (OpaqueType).
  constexpr TypeSet kMoved = kComplex | kWord | kEighths;
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
      {"aten::ldexp", kComplex},
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
      {"aten::trace", kComplex | kBool | kHalves | kWord},
      {"aten::channel_shuffle", kMoved},
      {"aten::count_nonzero", kWord | kEighths},
      {"aten::equal", kComplex},
      {"aten::eye", kComplex | kWord},
      {"aten::flip", kMoved},
      {"aten::gather", kMoved},
      {"aten::index_select", kWord},
      {"aten::isin", kWord | kEighths},
      {"aten::median.", kBool | kEighths},
      {"aten::nanmedian.", kBool | kEighths},
      {"aten::scatter.src", kMoved},
      {"aten::scatter.src_out", kMoved},
      {"aten::scatter.value", kMoved},
      {"aten::scatter.value_out", kMoved},
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
  constexpr TypeSet kBool = type_set(ScalarType::Bool);
  static const std::unordered_map<std::string_view, TypeSet> kCoordinates = {
      {"aten::_coalesce", kComplex},           {"aten::_sparse_sparse_matmul", kHalves},
      {"aten::_to_dense", kHalves | kComplex}, {"aten::add", kHalves | kComplex},
      {"aten::sub", kHalves | kComplex},       {"aten::mul", kBool},
  };
  static const std::unordered_map<std::string_view, TypeSet> kCompressed = {
      {"aten::addmm", kHalves}, {"aten::addmv", kHalves}, {"aten::baddbmm", kHalves},
      {"aten::bmm", kHalves},   {"aten::mm", kHalves},    {"aten::mv", kHalves},
      {"aten::mul", kBool},
  };
  return cpu == c10::DispatchKey::SparseCPU ? kCoordinates : kCompressed;
}

TypeSet types_of(const std::unordered_map<std::string_view, TypeSet>& types,
                 const c10::OperatorName& name) {
  // In place or not: the types are the same.
  std::string_view base = name.name;
  if (base.ends_with('_')) base.remove_suffix(1);
  auto found = types.find(std::string(base) + "." + name.overload_name);
  if (found == types.end()) found = types.find(base);
  return found == types.end() ? TypeSet{0} : found->second;
}

}  // namespace

TypeRules type_rules_of(const c10::OperatorName& name, c10::DispatchKey cpu) {
  TypeRules rules;
  if (cpu == c10::DispatchKey::CPU) rules.slow = computed_in_float32(name);
  if (Runtime::get().kind_name() != "cuda") return rules;
  const bool is_sparse =
      cpu == c10::DispatchKey::SparseCPU || cpu == c10::DispatchKey::SparseCsrCPU;
  if (cpu == c10::DispatchKey::CPU || is_sparse) rules.widened = types_of(widened_types(), name);
  if (is_sparse) rules.widened |= types_of(widened_sparse_types(cpu), name);
  if (cpu != c10::DispatchKey::CPU) return rules;
  rules.refuses = refusal_of(name);
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
  return Runtime::get().kind_name() == "cuda" &&
         (kNames.contains(name.name) || name == c10::OperatorName("aten::narrow_copy", "out"));
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
