// What only FlashAttention's kernel computes: the bias of ALiBi, and its mask for tests.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "runtime/virtual/operators/attention_math.h"

namespace torchport::vdev {

// The bias of ALiBi, from slopes (batch, head): (batch, head, query, key). The slope times the
// key's place if the mask is causal, else minus the slope times the distance.
[[nodiscard]] at::Tensor alibi_bias(const at::Tensor& slopes, std::int64_t queries,
                                    std::int64_t keys, bool causal);

// Writes what the kernel returns for `return_debug_mask` into the CPU tensor `mask` (batch, head,
// query, key), whose last two sizes are rounded up: the exponentials of the products less the
// largest product so far, with a minus sign where they are dropped. The kernel goes over the keys
// in blocks, from the last to the first. Outside of the matrices the mask keeps what it holds.
void write_flash_mask(const AttentionCall& call, const at::Tensor& mask);

}  // namespace torchport::vdev
