#include "runtime/virtual/without_data/meta_results.h"

#include <string_view>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DispatchKey.h>
#include <c10/util/strides.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/laid_out.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

// log_sigmoid_forward(self) -> (output, buffer): CUDA saves nothing (Activation.cpp).
void has_no_buffer(const IValue*, IValue* results) {
  results[1] = at::empty({0}, results[1].toTensor().options());
}

// Gradients of a weight and a bias that are expanded (layer_norm_kernel.cu).
void contiguous_gradients(const IValue*, IValue* results) {
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& gradient = results[i].toTensor();
    if (gradient.defined())
      results[i] = laid_out(gradient, c10::contiguous_strides(gradient.sizes()));
  }
}

}  // namespace

ResultRule meta_result_rule_of(const c10::OperatorName& name) {
  if (name.overload_name.empty() && Runtime::get().kind_name() == "cuda") {
    static const std::unordered_map<std::string_view, ResultRule> kRules = {
        {"aten::log_sigmoid_forward", &has_no_buffer},
        {"aten::native_layer_norm_backward", &contiguous_gradients},
    };
    const auto found = kRules.find(name.name);
    if (found != kRules.end()) return found->second;
  }
  return result_rule_of(name, c10::DispatchKey::CPU);
}

}  // namespace torchport::vdev
