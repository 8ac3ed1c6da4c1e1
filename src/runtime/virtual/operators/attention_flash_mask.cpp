#include <algorithm>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>

#include "runtime/virtual/operators/attention_flash.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// kBlockN of the kernels with dropout, by the size of a head (flash_fwd_launch_template.h).
std::int64_t keys_of_flash_block(std::int64_t size) {
  if (size <= 32) return 128;
  if (size > 96 && size <= 128) return 32;
  return 64;
}

}  // namespace

Tensor alibi_bias(const Tensor& slopes, std::int64_t queries, std::int64_t keys, bool causal) {
  const Tensor key = at::arange(keys, slopes.options()).unsqueeze(0);
  const Tensor place = at::arange(queries, slopes.options()).unsqueeze(1) + (keys - queries);
  const Tensor distance = causal ? key.expand({queries, keys}) : (place - key).abs().neg();
  return slopes.unsqueeze(-1).unsqueeze(-1) * distance;
}

void write_flash_mask(const AttentionCall& call, const Tensor& mask) {
  const std::int64_t keys = call.key.size(2);
  const std::int64_t block = keys_of_flash_block(call.query.size(3));
  const Tensor scores = attention_scores(call);
  Tensor most = at::full({scores.size(0), scores.size(1), scores.size(2), 1},
                         -std::numeric_limits<double>::infinity(), scores.options());
  for (std::int64_t first = (keys - 1) / block * block; first >= 0; first -= block) {
    const Tensor of_block = scores.narrow(3, first, std::min(block, keys - first));
    most = at::maximum(most, of_block.amax(-1, /*keepdim=*/true));
    of_block.sub_(most.masked_fill(at::isinf(most), 0.0)).exp_();
  }
  Tensor kept = at::empty({scores.size(2), keys}, at::kFloat);
  for (std::int64_t batch = 0; batch < scores.size(0); ++batch) {
    for (std::int64_t head = 0; head < scores.size(1); ++head) {
      call.dropout->draw(call.first_batch + batch, head, kept);
      const Tensor of_head = scores.select(0, batch).select(0, head);
      mask.select(0, batch)
          .select(0, head)
          .narrow(0, 0, scores.size(2))
          .narrow(1, 0, keys)
          .copy_(at::where(kept > 0.0, of_head, of_head.neg()));
    }
  }
}

}  // namespace torchport::vdev
