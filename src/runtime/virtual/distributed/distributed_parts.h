// What collectives that gloo lacks are composed of.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace torchport::vdev {

// A tensor's elements in the order in which they lie in memory, in one dimension, as bytes. Raises
// c10::ValueError and c10::TypeError for what NCCL does not take.
[[nodiscard]] at::Tensor bytes_of(const at::Tensor& tensor);

// A reduction as gloo can do it: of `buffer`, by `op`.
struct Reduction {
  at::Tensor buffer;
  c10d::ReduceOp op;
  std::int64_t divisor = 1;  // of the result

  // Puts the buffer, or another of its type, where the result belongs.
  void into(const at::Tensor& target) const { into(target, buffer); }
  void into(const at::Tensor& target, const at::Tensor& result) const;
};

// Over `size` ranks. Raises c10::ValueError and c10::TypeError for what NCCL does not reduce.
[[nodiscard]] Reduction reduction_of(const at::Tensor& tensor, const c10d::ReduceOp& op, int size);

// A work that is done when these are and `finish` has run, with these results. The works must have
// futures: all but send and receive do.
[[nodiscard]] c10::intrusive_ptr<c10d::Work> after(
    std::vector<c10::intrusive_ptr<c10d::Work>> works, std::vector<at::Tensor> results,
    std::function<void()> finish = {});

// A work that is done when all of these are.
[[nodiscard]] c10::intrusive_ptr<c10d::Work> together(
    std::vector<c10::intrusive_ptr<c10d::Work>> works, c10d::OpType type);

}  // namespace torchport::vdev
