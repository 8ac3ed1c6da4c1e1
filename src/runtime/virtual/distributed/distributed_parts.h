// Provides the parts from which collectives that gloo lacks are composed.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace torchport::vdev {

// A tensor's elements as bytes, in one dimension, in the order in which they lie in memory. Raises
// c10::ValueError and c10::TypeError for tensors that NCCL does not take.
[[nodiscard]] at::Tensor bytes_of(const at::Tensor& tensor);

// A reduction in the form that gloo can do: of `buffer`, by `op`, with a division of the result.
struct Reduction {
  at::Tensor buffer;
  c10d::ReduceOp op;
  std::int64_t divisor = 1;  // of the result

  // Writes the buffer, or another tensor of its type, into the target.
  void into(const at::Tensor& target) const { into(target, buffer); }
  void into(const at::Tensor& target, const at::Tensor& result) const;
};

// The reduction over `size` ranks. Raises c10::ValueError and c10::TypeError for what NCCL does not
// reduce.
[[nodiscard]] Reduction reduction_of(const at::Tensor& tensor, const c10d::ReduceOp& op, int size);

// A work that is complete when `works` are complete and `finish` has run; its results are
// `results`. The works must have futures, which all but send and receive have.
[[nodiscard]] c10::intrusive_ptr<c10d::Work> after(
    std::vector<c10::intrusive_ptr<c10d::Work>> works, std::vector<at::Tensor> results,
    std::function<void()> finish = {});

// A work that is complete when all `works` are.
[[nodiscard]] c10::intrusive_ptr<c10d::Work> together(
    std::vector<c10::intrusive_ptr<c10d::Work>> works, c10d::OpType type);

}  // namespace torchport::vdev
