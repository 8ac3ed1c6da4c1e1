// Implements FlashAttention's own operators, which torch.nn.attention.varlen and libraries call:
// packed sequences of several lengths, windows, grouped heads. Each sequence goes through the CPU's
// fused kernel. The layout is FlashAttention's: (step, head, element), and (head, step) for
// logarithms.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using MaybeInt = std::optional<c10::SymInt>;

constexpr const char* kForward = "_flash_attention_forward";

// The keys that a query sees: from `left` positions before its own to `right` after it, both
// counted from the ends of the sequences; -1 means unbounded.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = -1;
  std::optional<double> scale;
};

Window window_of(bool causal, MaybeInt left, MaybeInt right, std::optional<double> scale) {
  const auto bound = [](const MaybeInt& given) {
    return given.has_value() ? std::max<std::int64_t>(given->expect_int(), -1) : -1;
  };
  return {bound(left), causal ? 0 : bound(right), scale};
}

// One sequence: its rows in the packed tensors, or in those of one batch.
struct Part {
  std::int64_t batch, query, queries, key, keys;
};

std::vector<std::int64_t> offsets(const Tensor& sums) {
  TORCH_CHECK(sums.scalar_type() == at::kInt, "cu_seqlens must have dtype torch.int32");
  const Tensor dense = sums.contiguous();
  // A virtual device's bytes lie in host memory.
  const auto* values = dense.const_data_ptr<std::int32_t>();
  return {values, values + dense.numel()};
}

std::vector<Part> parts_of(const Tensor& query, const Tensor& key, const MaybeTensor& sums_of_query,
                           const MaybeTensor& sums_of_key, const MaybeTensor& used) {
  std::vector<Part> parts;
  if (!has(sums_of_query)) {
    for (std::int64_t i = 0; i < query.size(0); ++i)
      parts.push_back({i, 0, query.size(1), 0, key.size(1)});
    return parts;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      has(sums_of_key), "torchport: ", kForward,
      " without cum_seq_k (paged keys) is not supported by virtual devices");
  const auto queries = offsets(*sums_of_query);
  const auto keys = offsets(*sums_of_key);
  TORCH_CHECK(queries.size() == keys.size() && !queries.empty(),
              "cum_seq_q and cum_seq_k must have the same number of sequences");
  const auto lengths = has(used) ? offsets(*used) : std::vector<std::int64_t>();
  for (std::size_t i = 0; i + 1 < queries.size(); ++i) {
    const std::int64_t length = keys[i + 1] - keys[i];
    parts.push_back({-1, queries[i], queries[i + 1] - queries[i], keys[i],
                     lengths.empty() ? length : std::min(length, lengths.at(i))});
  }
  return parts;
}

Tensor rows(const Tensor& packed, std::int64_t batch, std::int64_t at, std::int64_t count) {
  return (batch < 0 ? packed : packed.select(0, batch)).narrow(0, at, count);
}

// Converts to what the fused kernel takes: (1, head, step, element), with as many heads as the
// query.
Tensor for_kernel(const Tensor& sequence, std::int64_t heads) {
  const Tensor heads_first = sequence.transpose(0, 1).unsqueeze(0);
  return sequence.size(1) == heads ? heads_first
                                   : heads_first.repeat_interleave(heads / sequence.size(1), 1);
}

Tensor from_kernel(const Tensor& result) {
  return result.squeeze(0).transpose(0, 1);
}

// The rows of a part that see at least one key, and the mask over them.
struct Seen {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool causal = false;  // the kernel applies the causal mask by itself
  MaybeTensor mask;
};

Seen seen_by(const Part& part, const Window& window, const Tensor& like) {
  const std::int64_t shift = part.keys - part.queries;
  Seen seen;
  std::int64_t end = part.queries;
  if (window.right >= 0) seen.first = std::max<std::int64_t>(0, -(shift + window.right));
  if (window.left >= 0) end = std::min(end, part.keys + window.left - shift);
  seen.count = part.keys == 0 ? 0 : std::max<std::int64_t>(0, end - seen.first);
  if (window.left < 0 && window.right < 0) return seen;
  if (window.left < 0 && window.right == 0 && shift == 0) {
    seen.causal = true;
    return seen;
  }
  const auto integers = like.options().dtype(at::kLong);
  const Tensor place =
      at::arange(seen.first + shift, seen.first + shift + seen.count, integers).unsqueeze(1);
  const Tensor key = at::arange(part.keys, integers).unsqueeze(0);
  Tensor hidden = at::zeros({seen.count, part.keys}, like.options().dtype(at::kBool));
  if (window.right >= 0) hidden = hidden.logical_or(key > place + window.right);
  if (window.left >= 0) hidden = hidden.logical_or(key < place - window.left);
  seen.mask = at::zeros({seen.count, part.keys}, like.options())
                  .masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  return seen;
}

void check_forward(const Tensor& query, double dropout, const MaybeTensor& alibi,
                   const MaybeTensor& blocks) {
  TORCH_CHECK(query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16,
              "FlashAttention only support fp16 and bf16 data type");
  TORCH_CHECK_NOT_IMPLEMENTED(
      dropout == 0.0 && !has(alibi) && !has(blocks), "torchport: ", kForward,
      " with dropout, alibi_slopes or block_table is not supported by virtual devices; leave them "
      "out, or call scaled_dot_product_attention");
}

Tensor no_random_state(const Tensor& like) {
  return at::zeros({2}, like.options().dtype(at::kUInt64));
}

// Writes the output and returns the logarithms.
Tensor attend(Tensor& output, const Tensor& query, const Tensor& key, const Tensor& value,
              const std::vector<Part>& parts, const Window& window) {
  const std::int64_t heads = query.size(-2);
  const bool dense = !parts.empty() && parts.front().batch >= 0;
  output.zero_();
  Tensor logarithms =
      at::full(dense ? at::IntArrayRef{query.size(0), heads, query.size(1)}
                     : at::IntArrayRef{heads, query.size(0)},
               std::numeric_limits<double>::infinity(), query.options().dtype(at::kFloat));
  for (const Part& part : parts) {
    const Seen seen = seen_by(part, window, query);
    if (seen.count == 0) continue;
    const std::int64_t at = part.query + seen.first;
    const auto [result, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
        for_kernel(rows(query, part.batch, at, seen.count), heads),
        for_kernel(rows(key, part.batch, part.key, part.keys), heads),
        for_kernel(rows(value, part.batch, part.key, part.keys), heads), 0.0, seen.causal,
        seen.mask, window.scale);
    rows(output, part.batch, at, seen.count).copy_(from_kernel(result));
    (dense ? logarithms.select(0, part.batch) : logarithms)
        .narrow(1, at, seen.count)
        .copy_(logsumexp.squeeze(0));
  }
  return logarithms;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> forward(
    const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& sums_of_query,
    const MaybeTensor& sums_of_key, c10::SymInt, c10::SymInt, double dropout, bool causal, bool,
    std::optional<double> scale, MaybeInt left, MaybeInt right, const MaybeTensor& used,
    const MaybeTensor& alibi, const MaybeTensor& blocks, std::optional<std::int64_t>) {
  check_forward(query, dropout, alibi, blocks);
  Tensor output = at::empty(query.sizes(), query.options());
  Tensor logarithms =
      attend(output, query, key, value, parts_of(query, key, sums_of_query, sums_of_key, used),
             window_of(causal, left, right, scale));
  return {output, logarithms, no_random_state(query),
          at::empty({0}, query.options().dtype(at::kUInt64)), at::empty({0}, query.options())};
}

Tensor forward_into(Tensor& output, const Tensor& query, const Tensor& key, const Tensor& value,
                    const MaybeTensor& sums_of_query, const MaybeTensor& sums_of_key, c10::SymInt,
                    c10::SymInt, double dropout, bool causal, bool, std::optional<double> scale,
                    MaybeInt left, MaybeInt right, const MaybeTensor& used,
                    const MaybeTensor& alibi, const MaybeTensor& blocks,
                    std::optional<std::int64_t>) {
  check_forward(query, dropout, alibi, blocks);
  return attend(output, query, key, value, parts_of(query, key, sums_of_query, sums_of_key, used),
                window_of(causal, left, right, scale));
}

// Adds up the gradients of repeated heads.
void add_heads(const Tensor& target, const Tensor& gradient) {
  const Tensor steps = from_kernel(gradient);  // (step, head, element)
  const std::int64_t heads = target.size(1);
  target.copy_(steps.size(1) == heads ? steps
                                      : steps.unflatten(1, {heads, steps.size(1) / heads}).sum(2));
}

std::tuple<Tensor, Tensor, Tensor> backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& output, const Tensor& logarithms, const Tensor& sums_of_query,
    const Tensor& sums_of_key, c10::SymInt, c10::SymInt, double dropout, bool causal, const Tensor&,
    const Tensor&, std::optional<double> scale, MaybeInt left, MaybeInt right) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      dropout == 0.0,
      "torchport: _flash_attention_backward with dropout is not supported by virtual devices");
  const Window window = window_of(causal, left, right, scale);
  const std::int64_t heads = query.size(-2);
  Tensor of_query = at::zeros_like(query);
  Tensor of_key = at::zeros_like(key);
  Tensor of_value = at::zeros_like(value);
  for (const Part& part : parts_of(query, key, sums_of_query, sums_of_key, std::nullopt)) {
    const Seen seen = seen_by(part, window, query);
    if (seen.count == 0) continue;
    const std::int64_t at = part.query + seen.first;
    const Tensor logsumexp = (part.batch < 0 ? logarithms : logarithms.select(0, part.batch))
                                 .narrow(1, at, seen.count)
                                 .unsqueeze(0);
    const auto [to_query, to_key, to_value] =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(
            for_kernel(rows(grad, part.batch, at, seen.count), heads),
            for_kernel(rows(query, part.batch, at, seen.count), heads),
            for_kernel(rows(key, part.batch, part.key, part.keys), heads),
            for_kernel(rows(value, part.batch, part.key, part.keys), heads),
            for_kernel(rows(output, part.batch, at, seen.count), heads), logsumexp, 0.0,
            seen.causal, seen.mask, window.scale);
    rows(of_query, part.batch, at, seen.count).copy_(from_kernel(to_query));
    add_heads(rows(of_key, part.batch, part.key, part.keys), to_key);
    add_heads(rows(of_value, part.batch, part.key, part.keys), to_value);
  }
  return {of_query, of_key, of_value};
}

// Before torch 2.12 the operator has no block_table and no num_splits, and none writes into
// `output`.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> forward_until_2_11(
    const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& sums_of_query,
    const MaybeTensor& sums_of_key, c10::SymInt most_queries, c10::SymInt most_keys, double dropout,
    bool causal, bool debug, std::optional<double> scale, MaybeInt left, MaybeInt right,
    const MaybeTensor& used, const MaybeTensor& alibi) {
  return forward(query, key, value, sums_of_query, sums_of_key, std::move(most_queries),
                 std::move(most_keys), dropout, causal, debug, scale, std::move(left),
                 std::move(right), used, alibi, std::nullopt, std::nullopt);
}

void put_flash_attention(torch::Library& aten) {
  aten.impl("_flash_attention_backward", TORCH_FN(backward));
  const char* into = "_flash_attention_forward_no_dropout_inplace";
  if (c10::Dispatcher::singleton().findSchema({std::string("aten::") + into, ""})) {
    aten.impl(into, TORCH_FN(forward_into));
    aten.impl(kForward, TORCH_FN(forward));
  } else {
    aten.impl(kForward, TORCH_FN(forward_until_2_11));
  }
}

const OperatorGroup kFlashAttention(&put_flash_attention);

}  // namespace

}  // namespace torchport::vdev
