// Implements cuDNN's CTC loss and the rule by which PyTorch takes it:
// aten/src/ATen/native/cudnn/LossCTC.cpp. The numbers are those of the CPU's loss. How much memory
// cuDNN works in is not known: none here.
#include <algorithm>
#include <tuple>
#include <vector>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/TensorUtils.h>
#include <ATen/ops/_assert_async.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/le.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/ones_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::IntArrayRef;
using at::Tensor;
using CtcLoss = std::tuple<Tensor, Tensor>;

// Targets of this length and longer are too long for cuDNN.
constexpr std::int64_t kTooLong = 256;

bool has_forms_of_cudnn(const Tensor& log_probs, const Tensor& targets, std::int64_t blank) {
  return at::globalContext().userEnabledCuDNN() && blank == 0 && targets.dim() == 1 &&
         log_probs.scalar_type() == at::kFloat && targets.scalar_type() == at::kInt &&
         targets.is_contiguous() && log_probs.is_cuda() && log_probs.dim() == 3;
}

// Whether the targets fit, as far as both lists go.
bool has_lengths_of_cudnn(IntArrayRef inputs, IntArrayRef targets) {
  for (std::size_t i = 0; i < std::min(inputs.size(), targets.size()); ++i)
    if (targets[i] >= kTooLong || targets[i] > inputs[i]) return false;
  return true;
}

bool takes_cudnn_ctc(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                     IntArrayRef target_lengths, std::int64_t blank) {
  return has_forms_of_cudnn(log_probs, targets, blank) && targets.is_cpu() &&
         std::all_of(input_lengths.begin(), input_lengths.end(),
                     [&](std::int64_t length) { return length == log_probs.size(0); }) &&
         has_lengths_of_cudnn(input_lengths, target_lengths);
}

std::vector<std::int64_t> numbers_of(const Tensor& lengths) {
  const Tensor host = lengths.to(at::kCPU, at::kLong).contiguous();
  const auto* const first = host.const_data_ptr<std::int64_t>();
  return {first, first + host.numel()};
}

bool takes_cudnn_ctc_tensor(const Tensor& log_probs, const Tensor& targets,
                            const Tensor& input_lengths, const Tensor& target_lengths,
                            std::int64_t blank) {
  if (!has_forms_of_cudnn(log_probs, targets, blank) || input_lengths.scalar_type() != at::kInt ||
      target_lengths.scalar_type() != at::kInt)
    return false;
  if (!is_capturing_graph())
    return has_lengths_of_cudnn(numbers_of(input_lengths), numbers_of(target_lengths));
  at::_assert_async(at::lt(input_lengths.max(), kTooLong));
  at::_assert_async(at::le(target_lengths, input_lengths).all());
  return true;
}

void check_ctc(const Tensor& log_probs, const Tensor& targets, at::Backend of_targets,
               std::int64_t input_lengths, std::int64_t target_lengths, std::int64_t blank) {
  constexpr const char* kOperator = "cudnn_ctc_loss";
  const at::TensorArg probs{log_probs, "log_probs", 1};
  const at::TensorArg labels{targets, "targets", 2};
  at::checkDim(kOperator, probs, 3);
  at::checkScalarType(kOperator, probs, at::kFloat);
  at::checkDim(kOperator, labels, 1);
  at::checkScalarType(kOperator, labels, at::kInt);
  at::checkContiguous(kOperator, labels);
  at::checkBackend(kOperator, {log_probs}, at::Backend::CUDA);
  at::checkBackend(kOperator, {targets}, of_targets);
  TORCH_CHECK(input_lengths == log_probs.size(1),
              "input_lengths needs to have size to match batch_size");
  TORCH_CHECK(target_lengths == log_probs.size(1),
              "target_lengths needs to have size to match batch_size");
  TORCH_CHECK(blank == 0, "blank must be label 0 for cudnn_ctc_loss");
}

// The losses and the gradients of their sum.
CtcLoss compute_ctc(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                    IntArrayRef target_lengths) {
  Tensor gradient = at::empty_like(log_probs, at::MemoryFormat::Contiguous);
  Tensor losses = at::empty({log_probs.size(1)}, log_probs.options());
  Aliases aliases;
  const Tensor probs = aliases.of(log_probs, Aliases::Use::kReads);
  const Tensor labels = aliases.of(targets, Aliases::Use::kReads).to(at::kLong);
  const auto [loss, alpha] = at::_ctc_loss(probs, labels, input_lengths, target_lengths);
  aliases.of(losses).copy_(loss);
  aliases.of(gradient).copy_(at::_ctc_loss_backward(at::ones_like(loss), probs, labels,
                                                    input_lengths, target_lengths, loss, alpha, 0));
  return {losses, gradient};
}

CtcLoss cudnn_ctc(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                  IntArrayRef target_lengths, std::int64_t blank, bool, bool) {
  check_ctc(log_probs, targets, at::Backend::CPU, std::ssize(input_lengths),
            std::ssize(target_lengths), blank);
  return compute_ctc(log_probs, targets, input_lengths, target_lengths);
}

CtcLoss cudnn_ctc_tensor(const Tensor& log_probs, const Tensor& given_targets,
                         const Tensor& input_lengths, const Tensor& target_lengths,
                         std::int64_t blank, bool, bool) {
  const Tensor targets =
      given_targets.is_cpu() ? given_targets.to(log_probs.device()) : given_targets;
  const auto count = [](const Tensor& lengths) { return lengths.dim() == 0 ? 1 : lengths.size(0); };
  check_ctc(log_probs, targets, at::Backend::CUDA, count(input_lengths), count(target_lengths),
            blank);
  Aliases aliases;
  return compute_ctc(log_probs, targets,
                     numbers_of(aliases.of(input_lengths, Aliases::Use::kReads)),
                     numbers_of(aliases.of(target_lengths, Aliases::Use::kReads)));
}

void put_cudnn_ctc(torch::Library& aten) {
  aten.impl("_use_cudnn_ctc_loss", TORCH_FN(takes_cudnn_ctc));
  aten.impl("_use_cudnn_ctc_loss.Tensor", TORCH_FN(takes_cudnn_ctc_tensor));
  aten.impl("_cudnn_ctc_loss", TORCH_FN(cudnn_ctc));
  aten.impl("_cudnn_ctc_loss.Tensor", TORCH_FN(cudnn_ctc_tensor));
}

const OperatorGroup kCudnnCtc(&put_cudnn_ctc);

}  // namespace

}  // namespace torchport::vdev
