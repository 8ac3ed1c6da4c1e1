// What uses TF32 and how it rounds was seen on an H100 with cuBLAS 13.1 and cuDNN 9.19
// (tests/fidelity, numbers/tf32): to nearest, ties to even, also denormal numbers; a product of
// matrices uses it unless one of its dimensions is 1. cuDNN chooses for each shape; the rules below
// are the simplest that agree with most of the shapes that were asked.
#include "runtime/virtual/operators/tf32.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <c10/util/SmallVector.h>

#include "runtime/device/spec.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/convolution_call.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

using c10::IValue;

constexpr int kAmpere = 8;

bool is_on(const char* variable, std::string_view value) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr && std::string_view(text) == value;
}

bool devices_use_tf32() {
  static const bool kUse = [] {
    // The second variable is the libraries' own ("TF32 Tensor Core Math" of cuBLAS's manual).
    return is_on("TORCHPORT_TF32", "on") && !is_on("NVIDIA_TF32_OVERRIDE", "0") &&
           Runtime::get().kind_name() == "cuda" && Runtime::get().profile()->major >= kAmpere;
  }();
  return kUse;
}

bool products_may() {
  return at::globalContext().allowTF32CuBLAS();
}

bool is_float(const IValue& value) {
  if (!value.isTensor()) return false;
  const at::Tensor& tensor = value.toTensor();
  return tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
}

// Two factors: (m, k) and (k, n), or batches of them.
bool multiplies_matrices(const IValue* factors) {
  constexpr std::int64_t kLeast = 2;
  constexpr std::int64_t kLeastOfBatch = 64;
  if (!is_float(factors[0]) || !is_float(factors[1])) return false;
  const at::Tensor &a = factors[0].toTensor(), &b = factors[1].toTensor();
  if (a.dim() < 2 || b.dim() < 2) return false;
  const bool is_batch = a.dim() > 2 && a.size(0) > 1;
  const std::int64_t inner = a.size(-1);
  return a.size(-2) > 1 && b.size(-1) > 1 && inner >= (is_batch ? kLeastOfBatch : kLeast);
}

// Tensor cores take four channels at a time.
bool suits_tensor_cores(const ConvolutionCall& call, std::int64_t least_channels) {
  if (call.is_depthwise()) return false;
  std::int64_t places = call.input.size(0);
  for (std::int64_t i = 2; i < call.input.dim(); ++i) places *= call.input.size(i);
  return call.input.size(1) >= least_channels && places > 1;
}

bool convolution_suits(const IValue* arguments) {
  if (!is_float(arguments[0]) || !is_float(arguments[1])) return false;
  const ConvolutionCall call = convolution_of(arguments);
  if (call.input.dim() < 3) return false;
  const bool is_last = call.is_channels_last();
  if (call.is_transposed()) return suits_tensor_cores(call, 64) && is_last;
  return suits_tensor_cores(call, is_last || call.input.dim() == 5 ? 16 : 32);
}

bool gradient_suits(const IValue* arguments) {
  if (!is_float(arguments[0]) || !is_float(arguments[1]) || !is_float(arguments[2])) return false;
  const ConvolutionCall call = convolution_of_gradient(arguments);
  if (call.input.dim() < 3) return false;
  if (call.is_channels_last()) return suits_tensor_cores(call, 16);
  return call.has_one_place() && suits_tensor_cores(call, 64);
}

// Whether an argument with this name is multiplied.
bool is_operand(std::string_view op, std::string_view name) {
  if (name == "self") return op == "aten::mm" || op == "aten::bmm";
  constexpr std::array kNames = {"mat1",   "mat2",  "batch1",     "batch2",
                                 "weight", "input", "grad_output"};
  return std::any_of(kNames.begin(), kNames.end(), [&](const char* one) { return name == one; });
}

}  // namespace

bool convolutions_may_use_tf32() {
  return at::globalContext().allowTF32CuDNN(TORCHPORT_TF32_OF_CONVOLUTIONS);
}

Tf32 tf32_of(const c10::OperatorName& name, c10::DispatchKey cpu) {
  if (cpu != c10::DispatchKey::CPU || !devices_use_tf32()) return Tf32::kNever;
  static const std::unordered_map<std::string_view, Tf32> kUses = {
      {"aten::mm", Tf32::kProduct},
      {"aten::bmm", Tf32::kProduct},
      {"aten::addmm", Tf32::kSum},
      {"aten::addmm_", Tf32::kSum},
      {"aten::_addmm_activation", Tf32::kSum},
      {"aten::addbmm", Tf32::kSum},
      {"aten::addbmm_", Tf32::kSum},
      {"aten::baddbmm", Tf32::kSum},
      {"aten::baddbmm_", Tf32::kSum},
      {"aten::_convolution", Tf32::kConvolution},
      {"aten::convolution_backward", Tf32::kConvolutionGradient},
  };
  const auto found = kUses.find(name.name);
  return found == kUses.end() ? Tf32::kNever : found->second;
}

bool uses_tf32(Tf32 use, const IValue* arguments) {
  switch (use) {
    case Tf32::kNever:
      return false;
    case Tf32::kProduct:
      return products_may() && multiplies_matrices(arguments);
    case Tf32::kSum:
      return products_may() && multiplies_matrices(arguments + 1);
    case Tf32::kConvolution:
      return convolutions_may_use_tf32() && convolution_suits(arguments);
    case Tf32::kConvolutionGradient:
      return convolutions_may_use_tf32() && gradient_suits(arguments);
  }
  return false;
}

at::Tensor rounded_to_tf32(const at::Tensor& values) {
  // 13 of 23 bits of the fraction go; half of the last one that stays, and what makes ties even.
  constexpr unsigned kLost = 13;
  constexpr std::uint32_t kHalf = (1U << (kLost - 1)) - 1;
  constexpr std::uint32_t kExponent = 0x7F800000;
  constexpr std::int64_t kGrain = 1 << 15;
  const at::Tensor dense = values.is_non_overlapping_and_dense() ? values : values.contiguous();
  at::Tensor rounded = at::empty_like(dense);
  const auto* from = static_cast<const std::uint32_t*>(dense.const_data_ptr());
  auto* to = static_cast<std::uint32_t*>(rounded.mutable_data_ptr());
  at::parallel_for(0, dense.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t bits = from[i];
      const std::uint32_t even = (bits >> kLost) & 1U;
      const std::uint32_t nearest = (bits + kHalf + even) & ~((1U << kLost) - 1);
      to[i] = (bits & kExponent) == kExponent ? bits : nearest;  // infinite, or no number
    }
  });
  return rounded;
}

void in_tf32(const c10::FunctionSchema& schema, torch::jit::Stack* stack,
             const std::function<void()>& kernel) {
  const std::size_t count = schema.arguments().size();
  const std::size_t first = stack->size() - count;
  const bool is_gradient = schema.name() == "aten::convolution_backward";
  const at::Tensor grad = is_gradient ? (*stack)[first].toTensor() : at::Tensor();
  for (std::size_t i = 0; i < count; ++i) {
    IValue& value = (*stack)[first + i];
    if (is_float(value) && is_operand(schema.name(), schema.arguments()[i].name()))
      value = rounded_to_tf32(value.toTensor());
  }
  kernel();
  if (!is_gradient) return;
  IValue& of_bias = stack->back();
  if (!of_bias.isTensor() || !of_bias.toTensor().defined()) return;
  c10::SmallVector<std::int64_t, 4> summed = {0};
  for (std::int64_t i = 2; i < grad.dim(); ++i) summed.push_back(i);
  of_bias = grad.sum(summed);
}

}  // namespace torchport::vdev
