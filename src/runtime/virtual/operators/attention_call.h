// What the operators of CUDA's fused attention have in common: seeds as tensors, checks, and the
// choice between the CPU's fused kernel and the steps of attention_math.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/device/philox.h"
#include "runtime/virtual/operators/attention_math.h"
#include "runtime/virtual/operators/maybe_tensor.h"

namespace torchport::vdev {

// Computes attention by the CPU's fused kernel if that can, and by steps otherwise. Like
// attend_by_steps(), but a program has the bits of the CPU where the fused kernel computes.
[[nodiscard]] Attended attend(const AttentionCall& call);
[[nodiscard]] AttentionGradients attend_backward(const AttentionCall& call, const at::Tensor& grad,
                                                 const at::Tensor& output,
                                                 const at::Tensor& logarithms, bool of_bias);

// 1 / sqrt(elements), unless a scale is given.
[[nodiscard]] double attention_scale(const at::Tensor& query, std::optional<double> scale);

// Raises what the generated wrapper of an operator raises if the tensors are on several devices.
// `op` is its name without namespace.
void check_on_one_device(const char* op,
                         std::initializer_list<std::pair<const char*, MaybeTensor>> arguments);

// Warns that a kernel adds up gradients in any order, if the program asks for
// warnings about that.
void warn_of_order(const char* kernel);

// One sequence: its rows in the packed tensors, or in those of one batch (`batch` is -1 if packed).
struct AttentionPart {
  std::int64_t batch;
  std::int64_t query;
  std::int64_t queries;
  std::int64_t key;
  std::int64_t keys;
};

// The numbers of an int32 tensor of one dimension. The bytes of virtual devices lie in host memory.
[[nodiscard]] std::vector<std::int64_t> lengths_of(const at::Tensor& tensor);

// The seed and the offset as the kernels return them. In a CUDA graph they are on the device, where
// the kernel writes them at each replay; otherwise on the CPU.
struct SeedScalars {
  at::Tensor seed;
  at::Tensor offset;
};

[[nodiscard]] SeedScalars seed_scalars(const device::PhiloxPlace& place, const at::Tensor& query,
                                       bool on_device);
[[nodiscard]] device::PhiloxPlace place_of(const at::Tensor& seed, const at::Tensor& offset);

// FlashAttention's state: two numbers of a device, seed and offset.
[[nodiscard]] at::Tensor flash_state(const device::PhiloxPlace& place, const at::Tensor& query);
[[nodiscard]] device::PhiloxPlace place_of_flash_state(const at::Tensor& state);

}  // namespace torchport::vdev
