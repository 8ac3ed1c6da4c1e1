#include "runtime/virtual/errors/kernel_names.h"

#include <algorithm>
#include <array>
#include <typeinfo>

#include <c10/util/Exception.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/errors/device_texts.h"

namespace torchport::vdev {

namespace {

struct KernelName {
  std::string_view cpu;
  std::string_view cuda;
  std::string_view op = {};  // only for operators whose names begin like this
};

// The names that AT_DISPATCH has in aten/src/ATen/native and aten/src/ATen/native/cuda, where one
// of CUDA's stands in the place of one of the CPU's.
constexpr auto kNames = std::to_array<KernelName>({
    {"_segment_reduce_cpu", "segment_reduce_cuda"},
    {"add_stub", "ufunc_add_CUDA"},
    {"addmm_impl_cpu_", "addmm_cuda"},
    {"baddbmm", "baddbmm_cuda"},
    {"baddbmm_with_gemm", "baddbmm_cuda"},
    {"bmm", "baddbmm_cuda"},
    {"cdist", "cdist_cuda"},
    {"cdist_backward", "cdist_cuda_backward"},
    {"clamp_max_scalar_cpu", "clamp_scalar_cuda"},
    {"clamp_min_scalar_cpu", "clamp_scalar_cuda"},
    {"cross", "cross_cuda"},
    {"cumprod_out_cpu", "cumprod_cuda"},
    {"cumsum_out_cpu", "cumsum_cuda"},
    {"digamma", "digamma_cuda"},
    {"dirichlet", "dirichlet_cuda"},
    {"div_cpu", "div_true_cuda"},
    {"eq_cpu", "compare_eq_ne_cuda"},
    {"exp2", "exp2_cuda"},
    {"ge_cpu", "compare_cuda"},
    {"grid_sampler3d_cpu", "grid_sampler_3d_cuda"},
    {"grid_sampler_2d_cpu_kernel_impl", "grid_sampler_2d_cuda"},
    {"gt_cpu", "compare_cuda"},
    {"hardshrink_backward_cpu", "shrink_backward_cuda"},
    {"hardsigmoid_backward", "hardsigmoid_backward_cuda"},
    {"ldl_factor_kernel_cpu", "ldl_factor_looped_cusolver"},
    {"ldl_solve_kernel_cpu", "ldl_solve_looped_cusolver"},
    {"le_cpu", "compare_cuda"},
    {"linalg_svd_cpu", "svd_cuda_gesvdj"},
    {"logcumsumexp_out_cpu", "logcumsumexp_cuda"},
    {"log_sigmoid_cpu", "log_sigmoid_forward_cuda"},
    {"lt_cpu", "compare_cuda"},
    {"lu_cpu", "lu_factor_magma_batched", "aten::linalg_lu"},
    {"lu_cpu", "lu_factor_cusolver"},
    {"masked_fill", "masked_fill_"},
    {"masked_scatter", "masked_scatter_"},
    {"masked_select", "index_cuda"},
    {"max_all", "max_all_cuda"},
    {"maximum_cpu", "max_elementwise_cuda"},
    {"median_cpu", "median_out_impl"},
    {"median_out", "median_out_impl"},
    {"min_all", "min_all_cuda"},
    {"minimum_cpu", "min_elementwise_cuda"},
    {"mode_cpu", "cuda_mode"},
    {"multi_margin_loss_backward_cpu_kernel", "multi_margin_loss_backward_cuda"},
    {"multi_margin_loss_cpu_kernel", "multi_margin_loss_cuda"},
    {"multilabel_margin_loss_backward_out_frame", "multilabel_margin_loss_backward_kernel"},
    {"multilabel_margin_loss_forward_out_frame", "multilabel_margin_loss_forward_kernel"},
    {"nan_to_num", "nan_to_num_cuda"},
    {"ne_cpu", "compare_eq_ne_cuda"},
    {"nonzero_count_cpu", "nonzero_cuda"},
    {"pdist", "pdist_cuda"},
    {"pdist_backward", "pdist_cuda_backward"},
    {"polygamma", "polygamma_cuda"},
    {"pow", "pow_cuda"},
    {"prod_out_cpu", "prod_cuda"},
    {"randperm", "randperm_out_cuda"},
    {"scatter_gather_scalar_cpu", "cuda_scatter_fill_base_kernel_func"},
    {"scatter_gather_tensor_cpu", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_amax", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_amin", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_mean", "cuda_scatter_gather_base_kernel_func"},
    {"take_put_cpu", "put_cuda", "aten::put"},
    {"take_put_cpu", "take_cuda", "aten::take"},
    {"topk_cpu", "topk_out_cuda"},
    {"trigamma", "trigamma_cuda"},
    {"tril", "triu_tril_cuda_template"},
    {"tril_indices", "tril_indices_cuda"},
    {"triu", "triu_tril_cuda_template"},
    {"triu_indices", "triu_indices_cuda"},
});

struct OperatorName {
  std::string_view op;  // without the "_" of an operator in place
  std::string_view cuda;
};

// Where the CPU has several kernels for an operator (by the layout, the size of the last dimension)
// and CUDA refuses a type under one name.
constexpr auto kOperators = std::to_array<OperatorName>({
    {"aten::_adaptive_avg_pool2d", "adaptive_avg_pool2d_cuda"},
    {"aten::_adaptive_avg_pool2d_backward", "adaptive_avg_pool2d_backward_cuda"},
    {"aten::_adaptive_avg_pool3d", "adaptive_avg_pool3d_cuda"},
    {"aten::_adaptive_avg_pool3d_backward", "adaptive_avg_pool3d_backward_cuda"},
    {"aten::_log_softmax", "host_softmax"},
    {"aten::_log_softmax_backward_data", "host_softmax_backward"},
    {"aten::_softmax", "host_softmax"},
    {"aten::_softmax_backward_data", "host_softmax_backward"},
    {"aten::_upsample_bicubic2d_aa", "upsample_bilinear2d_out_frame"},
    {"aten::_upsample_bicubic2d_aa_backward", "upsample_gen2d_backward_out_frame"},
    {"aten::_upsample_bilinear2d_aa", "upsample_bilinear2d_out_frame"},
    {"aten::_upsample_bilinear2d_aa_backward", "upsample_gen2d_backward_out_frame"},
    {"aten::adaptive_max_pool2d", "adaptive_max_pool2d_cuda"},
    {"aten::adaptive_max_pool2d_backward", "adaptive_max_pool2d_backward_cuda"},
    {"aten::adaptive_max_pool3d", "adaptive_max_pool3d_cuda"},
    {"aten::adaptive_max_pool3d_backward", "adaptive_max_pool3d_backward_cuda"},
    {"aten::avg_pool2d", "avg_pool2d_out_cuda_frame"},
    {"aten::avg_pool2d_backward", "avg_pool2d_backward_out_cuda_frame"},
    {"aten::avg_pool3d", "avg_pool3d_out_cuda"},
    {"aten::avg_pool3d_backward", "avg_pool3d_backward_out_frame"},
    {"aten::binary_cross_entropy", "binary_cross_entropy_out_cuda"},
    {"aten::binary_cross_entropy_backward", "binary_cross_entropy_backward_out_cuda"},
    {"aten::cholesky", "cholesky_cusolver"},
    {"aten::linalg_cholesky_ex", "cholesky_cusolver"},
    {"aten::fractional_max_pool2d", "fractional_max_pool2d_out_cuda_frame"},
    {"aten::fractional_max_pool2d_backward", "fractional_max_pool2d_backward_out_cuda_frame"},
    {"aten::gelu", "GeluCUDAKernelImpl"},
    {"aten::gelu_backward", "GeluBackwardCUDAKernelImpl"},
    {"aten::histc", "histc"},
    {"aten::index_add", "index_add"},
    {"aten::index_reduce", "index_reduce"},
    {"aten::index_select", "index_select_cuda"},
    {"aten::lerp", "lerp_cuda"},
    {"aten::max_pool2d_with_indices", "max_pool2d_with_indices_out_cuda_frame"},
    {"aten::max_pool2d_with_indices_backward", "max_pool2d_with_indices_out_cuda_frame"},
    {"aten::max_pool3d_with_indices", "max_pool3d_with_indices_out_frame"},
    {"aten::max_pool3d_with_indices_backward", "max_pool3d_with_indices_backward_out_frame"},
    {"aten::max_unpool2d", "max_unpooling2d_forward_kernel"},
    {"aten::max_unpool3d", "max_unpooling3d_forward_kernel"},
    {"aten::mean", "mean_cuda"},
    {"aten::native_batch_norm", "batch_norm_stats_cuda"},
    {"aten::_native_batch_norm_legit", "batch_norm_stats_cuda"},
    {"aten::reflection_pad1d", "reflection_pad1d_out"},
    {"aten::reflection_pad1d_backward", "reflection_pad1d_backward_out_cuda"},
    {"aten::reflection_pad2d", "reflection_pad2d_out_template"},
    {"aten::reflection_pad2d_backward", "reflection_pad2d_backward_out_template"},
    {"aten::reflection_pad3d", "reflection_pad3d_out_cuda"},
    {"aten::reflection_pad3d_backward", "reflection_pad3d_backward_out_cuda"},
    {"aten::replication_pad1d", "replication_pad1d_cuda"},
    {"aten::replication_pad1d_backward", "replication_pad1d_backward_cuda"},
    {"aten::replication_pad2d", "replication_pad2d_cuda"},
    {"aten::replication_pad2d_backward", "replication_pad2d_backward_cuda"},
    {"aten::replication_pad3d", "replication_pad3d_cuda"},
    {"aten::replication_pad3d_backward", "replication_pad3d_backward_cuda"},
    {"aten::trace", "sum_cuda"},
    {"aten::upsample_linear1d_backward", "upsample_linear1d_out_frame_backward"},
});

// Replaces the first `from` in `text`. Returns whether there was one.
bool replace(std::string& text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

// The one name of CUDA's kernels for an operator; empty if they have several.
std::string name_for_operator(std::string_view op) {
  if (op.ends_with('_')) op.remove_suffix(1);
  const auto* known = std::ranges::find(kOperators, op, &OperatorName::op);
  if (known != kOperators.end()) return std::string(known->cuda);
  // aten::upsample_nearest2d, aten::_upsample_nearest_exact2d_backward
  std::string name(op.substr(op.find(':') + 2));
  if (name.starts_with('_')) name.erase(0, 1);
  if (!name.starts_with("upsample_")) return {};
  replace(name, "nearest_exact", "nearest");
  return name + "_out_frame";
}

// The text with CUDA's names; empty if nothing in it changes.
std::string with_names_of_cuda(const std::string& text, std::string_view op) {
  constexpr std::string_view kRefuses = "\" not implemented for '";
  std::string changed = text;
  if (replace(changed, "_cpu_template", "_cuda_template")) return changed;
  const auto end = text.find(kRefuses);
  if (end == std::string::npos || end == 0) return {};
  const auto quote = text.rfind('"', end - 1);
  if (quote == std::string::npos) return {};
  const std::string name = text.substr(quote + 1, end - quote - 1);
  changed.replace(quote + 1, name.size(), name_of_cuda_kernel(name, op));
  return changed == text ? std::string() : changed;
}

template <class Error>
void rethrow_changed(const Error& error, std::string_view op) {
  std::string text = text_of_cuda(error.msg(), op);
  if (text.empty()) text = with_names_of_cuda(error.msg(), op);
  if (text.empty()) return;
  throw Error({"rethrow_with_names_of_device", __FILE__, static_cast<std::uint32_t>(__LINE__)},
              std::move(text));
}

}  // namespace

std::string name_of_cuda_kernel(std::string_view name, std::string_view op) {
  std::string of_operator = name_for_operator(op);
  if (!of_operator.empty()) return of_operator;
  // A kernel of the CPU that computes in a wider type; CUDA has one kernel for both.
  constexpr std::string_view kReduced = "_reduced_float";
  if (name.ends_with(kReduced)) name.remove_suffix(kReduced.size());
  const auto* known = std::ranges::find_if(
      kNames, [&](const KernelName& one) { return one.cpu == name && op.starts_with(one.op); });
  if (known != kNames.end()) return std::string(known->cuda);
  std::string changed(name);
  if (!replace(changed, "_vml_cpu", "_cuda") && !replace(changed, "_cpu_out", "_cuda"))
    replace(changed, "_cpu", "_cuda");
  return changed;
}

void rethrow_with_names_of_device(std::string_view op) {
  if (Runtime::get().kind().type != c10::DeviceType::CUDA) return;
  try {
    throw;
  } catch (const c10::NotImplementedError& error) {
    rethrow_changed(error, op);
  } catch (const c10::Error& error) {
    if (typeid(error) == typeid(c10::Error)) rethrow_changed(error, op);
  }
}

}  // namespace torchport::vdev
