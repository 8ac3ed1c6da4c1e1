#include "runtime/virtual/errors/kernel_names.h"

#include <algorithm>
#include <array>
#include <typeinfo>

#include <c10/util/Exception.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

struct KernelName {
  std::string_view cpu;
  std::string_view cuda;
  std::string_view op = {};  // only for operators whose names begin like this
};

// The names that AT_DISPATCH has in aten/src/ATen/native and aten/src/ATen/native/cuda.
constexpr auto kNames = std::to_array<KernelName>({
    {"_segment_reduce_cpu", "segment_reduce_cuda"},
    {"addmm_impl_cpu_", "addmm_cuda"},
    {"eq_cpu", "compare_eq_ne_cuda"},
    {"ge_cpu", "compare_cuda"},
    {"grid_sampler3d_cpu", "grid_sampler_3d_cuda"},
    {"grid_sampler_2d_cpu_kernel_impl", "grid_sampler_2d_cuda"},
    {"gt_cpu", "compare_cuda"},
    {"ldl_factor_kernel_cpu", "ldl_factor_looped_cusolver"},
    {"le_cpu", "compare_cuda"},
    {"linalg_svd_cpu", "svd_cuda_gesvdj"},
    {"log_sigmoid_cpu", "log_sigmoid_forward_cuda"},
    {"lt_cpu", "compare_cuda"},
    {"lu_cpu", "lu_factor_cusolver"},
    {"maximum_cpu", "max_elementwise_cuda"},
    {"median_cpu", "median_out_impl"},
    {"minimum_cpu", "min_elementwise_cuda"},
    {"mode_cpu", "cuda_mode"},
    {"multi_margin_loss_cpu_kernel", "multi_margin_loss_cuda"},
    {"ne_cpu", "compare_eq_ne_cuda"},
    {"scatter_gather_tensor_cpu", "gather_out_cuda", "aten::gather"},
    {"scatter_gather_tensor_cpu", "scatter_add_cuda_", "aten::scatter_add"},
    {"scatter_gather_tensor_cpu", "scatter_cuda_", "aten::scatter"},
    {"scatter_gather_tensor_cpu_reduce_amax", "scatter_reduce_cuda_amax_"},
    {"scatter_gather_tensor_cpu_reduce_amin", "scatter_reduce_cuda_amin_"},
    {"take_put_cpu", "put_cuda", "aten::put"},
    {"take_put_cpu", "take_cuda", "aten::take"},
});

// Replaces the first `from` in `text`. Returns whether there was one.
bool replace(std::string& text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
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
  std::string text = with_names_of_cuda(error.msg(), op);
  if (text.empty()) return;
  throw Error({"rethrow_with_names_of_device", __FILE__, static_cast<std::uint32_t>(__LINE__)},
              std::move(text));
}

}  // namespace

std::string name_of_cuda_kernel(std::string_view name, std::string_view op) {
  const auto* known = std::ranges::find_if(
      kNames, [&](const KernelName& one) { return one.cpu == name && op.starts_with(one.op); });
  if (known != kNames.end()) return std::string(known->cuda);
  std::string changed(name);
  if (replace(changed, "_vml_cpu", "_cuda") || replace(changed, "_cpu_out", "_cuda") ||
      replace(changed, "_out_cpu", "_cuda"))
    return changed;
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
