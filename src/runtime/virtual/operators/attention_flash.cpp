// Implements FlashAttention's own operators, which the dense operator, torch.nn.attention.varlen,
// nested tensors and libraries call: packed sequences of several lengths, windows, grouped heads,
// pages, ALiBi, dropout. The layout is FlashAttention's: (step, head, element), and (head, step)
// for logarithms. Sources of the checks and their words: attention.cu, attention_backward.cu and
// flash_attn/flash_api.cpp in aten/src/ATen/native/transformers/cuda.
#include "runtime/virtual/operators/attention_flash.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/attention_call.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using MaybeInt = std::optional<c10::SymInt>;
using FlashForward = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

constexpr double kInfiniteLogarithm = std::numeric_limits<double>::infinity();

void check_flash(const Tensor& query, const Tensor& key, const Tensor& value, bool forward) {
  if (Runtime::get().kind().type == c10::DeviceType::CUDA) {
    TORCH_CHECK(Runtime::get().profile()->major >= 8,
                "FlashAttention only supports Ampere GPUs or newer.");
    TORCH_CHECK(query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16,
                "FlashAttention only support fp16 and bf16 data type");
  }
  TORCH_CHECK(key.dtype() == query.dtype(), "query and key must have the same dtype");
  TORCH_CHECK(value.dtype() == query.dtype(), "query and value must have the same dtype");
  for (const Tensor& tensor : {query, key, value})
    TORCH_CHECK(tensor.stride(-1) == 1, "Input tensor must have contiguous last dimension");
  constexpr std::int64_t kMost = 256;
  constexpr std::int64_t kMultiple = 8;
  const std::int64_t size = query.size(-1);
  TORCH_CHECK(size <= kMost, "FlashAttention ", forward ? "forward" : "backward",
              " only supports head dimension at most 256");
  if (Runtime::get().kind().type == c10::DeviceType::CUDA) {
    TORCH_CHECK(size % kMultiple == 0,
                forward ? "head_size must be a multiple of 8, this is ensured by "
                          "padding!"
                        : "head_size should be a multiple of 8");
  }
  TORCH_CHECK(key.size(-2) > 0 && query.size(-2) % key.size(-2) == 0,
              "Number of heads in key/value must divide number of heads in query");
}

void check_flash_lengths(const MaybeTensor& lengths, const char* name) {
  TORCH_CHECK(!has(lengths) || lengths->scalar_type() == at::kInt, name, " must have dtype int32");
}

// The sequences, in the packed tensors or, without `sums`, one for each batch.
std::vector<AttentionPart> flash_parts(const Tensor& query, const Tensor& key,
                                       const MaybeTensor& sums_of_query,
                                       const MaybeTensor& sums_of_key, const MaybeTensor& used) {
  std::vector<AttentionPart> parts;
  if (!has(sums_of_query)) return {{0, 0, query.size(1), 0, key.size(1)}};
  check_flash_lengths(sums_of_query, "cu_seqlens_q");
  check_flash_lengths(sums_of_key, "cu_seqlens_k");
  check_flash_lengths(used, "seqused_k");
  const auto queries = lengths_of(*sums_of_query);
  const auto keys = has(sums_of_key) ? lengths_of(*sums_of_key) : std::vector<std::int64_t>();
  const auto lengths = has(used) ? lengths_of(*used) : std::vector<std::int64_t>();
  TORCH_CHECK(!queries.empty() && (keys.empty() || queries.size() == keys.size()),
              "cu_seqlens_k must have shape (batch_size + 1)");
  for (std::size_t i = 0; i + 1 < queries.size(); ++i) {
    const std::int64_t length = keys.empty() ? lengths.at(i) : keys[i + 1] - keys[i];
    parts.push_back({static_cast<std::int64_t>(i), queries[i], queries[i + 1] - queries[i],
                     keys.empty() ? 0 : keys[i], lengths.empty() ? length : lengths.at(i)});
  }
  return parts;
}

// Rows of packed sequences, or all batches, as (batch, head, step, element).
Tensor flash_heads_first(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  if (tensor.dim() == 4) return tensor.transpose(1, 2);
  return tensor.narrow(0, first, count).transpose(0, 1).unsqueeze(0);
}

// What the passes have in common, over aliases on the CPU.
struct FlashCall {
  FlashCall(Aliases& aliases, const Tensor& given_query, const Tensor& given_key,
            const Tensor& given_value)
      : query(aliases.of(given_query)),
        key(aliases.of(given_key)),
        value(aliases.of(given_value)) {}

  // The last query stands at the last key. A window at least as long as the keys has no end.
  void see(bool causal, const MaybeInt& window_left, const MaybeInt& window_right,
           std::int64_t most_queries, std::int64_t most_keys) {
    const auto bound = [&](const MaybeInt& given) {
      const std::int64_t window = given.has_value() ? given->expect_int() : -1;
      return window >= most_keys ? -1 : std::max<std::int64_t>(window, -1);
    };
    left = bound(window_left);
    right = bound(window_right);
    if (causal && (most_queries != 1 || slopes.defined())) right = 0;
  }

  // The keys or values of a part, from their pages if there are any.
  [[nodiscard]] Tensor keys_of(const Tensor& pool, const AttentionPart& part) const {
    if (!table.defined()) return flash_heads_first(pool, part.key, part.keys);
    const std::int64_t page = pool.size(1);
    const Tensor pages =
        table.select(0, part.batch).narrow(0, 0, (part.keys + page - 1) / page).to(at::kLong);
    return flash_heads_first(pool.index_select(0, pages).flatten(0, 1), 0, part.keys);
  }

  // ALiBi lowers a product by the distance, or raises it by the key's place if it is causal.
  [[nodiscard]] MaybeTensor bias_of(const AttentionPart& part) const {
    if (!slopes.defined()) return std::nullopt;
    const bool of_batches = slopes.dim() == 2;
    Tensor of_heads = of_batches ? slopes : slopes.unsqueeze(0);
    if (of_batches && query.dim() == 3) of_heads = slopes.narrow(0, part.batch, 1);
    return alibi_bias(of_heads, part.queries, part.keys, left < 0 && right == 0);
  }

  [[nodiscard]] AttentionCall of(const AttentionPart& part) const {
    return {flash_heads_first(query, part.query, part.queries),
            keys_of(key, part),
            keys_of(value, part),
            bias_of(part),
            {left, right, part.keys - part.queries},
            scale,
            dropout.has_value() ? &*dropout : nullptr,
            part.batch};
  }

  void drop(const device::PhiloxPlace& place, double probability) {
    dropout.emplace(AttentionDropout::Kernel::kFlash, place, probability, query.size(-2));
  }

  Tensor query;
  Tensor key;
  Tensor value;
  Tensor slopes;  // of ALiBi
  Tensor table;   // of pages
  std::int64_t left = -1;
  std::int64_t right = -1;
  double scale = 1.0;
  std::optional<AttentionDropout> dropout;
};

std::int64_t flash_batches(const Tensor& query, const MaybeTensor& sums_of_query) {
  return has(sums_of_query) ? sums_of_query->numel() - 1 : query.size(0);
}

device::PhiloxPlace draw_flash_state(const Tensor& query, std::int64_t batches, double dropout) {
  if (dropout == 0.0) return {};
  constexpr std::int64_t kThreadsOfWarp = 32;
  const std::int64_t numbers = batches * query.size(-2) * kThreadsOfWarp;
  return reserve_for_mask(query, static_cast<std::uint64_t>(numbers));
}

void check_flash_options(const Tensor& query, const MaybeTensor& slopes, const MaybeTensor& table,
                         const MaybeTensor& sums_of_query, const MaybeTensor& sums_of_key,
                         const MaybeTensor& used, const Tensor& key, double dropout, bool debug) {
  TORCH_CHECK(dropout < 1.0, "p_dropout < 1.f");
  TORCH_CHECK(!debug || dropout > 0.0, "return_softmax is only supported when p_dropout > 0.0");
  TORCH_CHECK(has(sums_of_query) == has(sums_of_key) || (has(table) && has(used)),
              "cumulative_sequence_length_q and cumulative_sequence_length_k must be both set or "
              "both not set");
  if (has(slopes)) {
    TORCH_CHECK(slopes->scalar_type() == at::kFloat, "ALiBi slopes must have dtype fp32");
    TORCH_CHECK(slopes->stride(-1) == 1, "ALiBi slopes tensor must have contiguous last dimension");
    TORCH_CHECK(slopes->size(-1) == query.size(-2));
  }
  if (has(table)) {
    constexpr std::int64_t kMultiple = 256;
    TORCH_CHECK(table->scalar_type() == at::kInt, "block_table must have dtype torch.int32");
    TORCH_CHECK(key.size(1) % kMultiple == 0, "Paged KV cache block size must be divisible by 256");
  }
}

// Writes the output and the logarithms, and the mask for tests if it is defined.
void attend_flash_parts(const FlashCall& call, const std::vector<AttentionPart>& parts,
                        const Tensor& output, const Tensor& logarithms, const Tensor& mask) {
  const bool packed = output.dim() == 3;
  if (packed) {
    output.zero_();
    logarithms.fill_(kInfiniteLogarithm);
  }
  if (mask.defined()) mask.zero_();
  for (const AttentionPart& part : parts) {
    const AttentionCall of_part = call.of(part);
    const Attended attended = attend(of_part);
    flash_heads_first(output, part.query, part.queries).copy_(attended.output);
    if (packed)
      logarithms.narrow(1, part.query, part.queries).copy_(attended.logarithms.squeeze(0));
    else
      logarithms.copy_(attended.logarithms);
    if (mask.defined()) write_flash_mask(of_part, packed ? mask.narrow(0, part.batch, 1) : mask);
  }
}

Tensor empty_flash_mask(const Tensor& query, std::int64_t batches, std::int64_t queries,
                        std::int64_t keys) {
  constexpr std::int64_t kBlock = 128;
  const auto whole = [](std::int64_t size) { return (size + kBlock - 1) / kBlock * kBlock; };
  return at::empty({batches, query.size(-2), whole(queries), whole(keys)}, query.options());
}

FlashForward run_flash(const MaybeTensor& given_output, const Tensor& query, const Tensor& key,
                       const Tensor& value, const MaybeTensor& sums_of_query,
                       const MaybeTensor& sums_of_key, const c10::SymInt& most_queries,
                       const c10::SymInt& most_keys, double dropout, bool causal, bool debug,
                       std::optional<double> scale, const MaybeInt& left, const MaybeInt& right,
                       const MaybeTensor& used, const MaybeTensor& slopes,
                       const MaybeTensor& table) {
  check_on_one_device("_flash_attention_forward", {{"query", query},
                                                   {"key", key},
                                                   {"value", value},
                                                   {"cum_seq_q", sums_of_query},
                                                   {"cum_seq_k", sums_of_key},
                                                   {"seqused_k", used},
                                                   {"alibi_slopes", slopes},
                                                   {"block_table", table}});
  check_flash(query, key, value, true);
  check_flash_options(query, slopes, table, sums_of_query, sums_of_key, used, key, dropout, debug);
  const at::NoGradGuard no_grad;
  const bool packed = has(sums_of_query);
  const std::int64_t batches = flash_batches(query, sums_of_query);
  const std::int64_t queries = packed ? most_queries.expect_int() : query.size(1);
  const std::int64_t keys = packed ? most_keys.expect_int() : key.size(1);
  const device::PhiloxPlace place = draw_flash_state(query, batches, dropout);
  Tensor output = has(given_output) ? *given_output : at::empty_like(query);
  const std::int64_t heads = query.size(-2);
  Tensor logarithms =
      packed ? at::empty({heads, query.size(0)}, query.options().dtype(at::kFloat))
             : at::empty({batches, heads, query.size(1)}, query.options().dtype(at::kFloat));
  Tensor mask =
      debug ? empty_flash_mask(query, batches, queries, keys) : at::empty({0}, query.options());
  Aliases aliases;
  FlashCall call(aliases, query, key, value);
  if (has(slopes)) call.slopes = aliases.of(*slopes);
  if (has(table)) call.table = aliases.of(*table);
  call.see(causal, left, right, queries, keys);
  call.scale = attention_scale(query, scale);
  if (dropout != 0.0) call.drop(place, dropout);
  attend_flash_parts(call, flash_parts(query, key, sums_of_query, sums_of_key, used),
                     aliases.of(output), aliases.of(logarithms),
                     debug ? aliases.of(mask) : Tensor());
  return {output, logarithms, flash_state(place, query),
          at::empty({}, query.options().dtype(at::kUInt64)), mask};
}

FlashForward flash_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                           const MaybeTensor& sums_of_query, const MaybeTensor& sums_of_key,
                           c10::SymInt most_queries, c10::SymInt most_keys, double dropout,
                           bool causal, bool debug, std::optional<double> scale, MaybeInt left,
                           MaybeInt right, const MaybeTensor& used, const MaybeTensor& slopes,
                           const MaybeTensor& table, std::optional<std::int64_t>) {
  return run_flash(std::nullopt, query, key, value, sums_of_query, sums_of_key, most_queries,
                   most_keys, dropout, causal, debug, scale, left, right, used, slopes, table);
}

Tensor flash_forward_into(Tensor& output, const Tensor& query, const Tensor& key,
                          const Tensor& value, const MaybeTensor& sums_of_query,
                          const MaybeTensor& sums_of_key, c10::SymInt most_queries,
                          c10::SymInt most_keys, double dropout, bool causal, bool debug,
                          std::optional<double> scale, MaybeInt left, MaybeInt right,
                          const MaybeTensor& used, const MaybeTensor& slopes,
                          const MaybeTensor& table, std::optional<std::int64_t>) {
  TORCH_CHECK(dropout == 0.0);
  return std::get<1>(run_flash(output, query, key, value, sums_of_query, sums_of_key, most_queries,
                               most_keys, dropout, causal, debug, scale, left, right, used, slopes,
                               table));
}

std::tuple<Tensor, Tensor, Tensor> flash_steps_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& output, const Tensor& logarithms, const Tensor& sums_of_query,
    const Tensor& sums_of_key, c10::SymInt most_queries, c10::SymInt most_keys, double dropout,
    bool causal, const Tensor& state, const Tensor&, std::optional<double> scale, MaybeInt left,
    MaybeInt right) {
  check_flash(query, key, value, false);
  warn_of_order("Flash Attention");
  const at::NoGradGuard no_grad;
  const bool packed = sums_of_query.defined();
  Tensor of_query = at::empty_like(query);
  Tensor of_key = at::empty_like(key);
  Tensor of_value = at::empty_like(value);
  Aliases aliases;
  FlashCall call(aliases, query, key, value);
  call.see(causal, left, right, packed ? most_queries.expect_int() : query.size(1),
           packed ? most_keys.expect_int() : key.size(1));
  call.scale = attention_scale(query, scale);
  if (dropout != 0.0) call.drop(place_of_flash_state(state), dropout);
  const Tensor from = aliases.of(grad);
  const Tensor out = aliases.of(output);
  const Tensor rows = aliases.of(logarithms);
  const Tensor to_query = aliases.of(of_query);
  const Tensor to_key = aliases.of(of_key);
  const Tensor to_value = aliases.of(of_value);
  if (packed)
    for (const Tensor& to : {to_query, to_key, to_value}) to.zero_();
  for (const AttentionPart& part :
       flash_parts(query, key, sums_of_query, sums_of_key, std::nullopt)) {
    const AttentionGradients found = attend_backward(
        call.of(part), flash_heads_first(from, part.query, part.queries),
        flash_heads_first(out, part.query, part.queries),
        packed ? rows.narrow(1, part.query, part.queries).unsqueeze(0) : rows, false);
    flash_heads_first(to_query, part.query, part.queries).copy_(found.query);
    flash_heads_first(to_key, part.key, part.keys).copy_(found.key);
    flash_heads_first(to_value, part.key, part.keys).copy_(found.value);
  }
  return {of_query, of_key, of_value};
}

// Before torch 2.12 the operator has no block_table and no num_splits, and none writes into
// `output`.
FlashForward flash_forward_until_2_11(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const MaybeTensor& sums_of_query,
                                      const MaybeTensor& sums_of_key, c10::SymInt most_queries,
                                      c10::SymInt most_keys, double dropout, bool causal,
                                      bool debug, std::optional<double> scale, MaybeInt left,
                                      MaybeInt right, const MaybeTensor& used,
                                      const MaybeTensor& slopes) {
  return run_flash(std::nullopt, query, key, value, sums_of_query, sums_of_key, most_queries,
                   most_keys, dropout, causal, debug, scale, left, right, used, slopes,
                   std::nullopt);
}

void put_flash_attention(torch::Library& aten) {
  aten.impl("_flash_attention_backward", TORCH_FN(flash_steps_backward));
  const char* into = "_flash_attention_forward_no_dropout_inplace";
  if (c10::Dispatcher::singleton().findSchema({std::string("aten::") + into, ""})) {
    aten.impl(into, TORCH_FN(flash_forward_into));
    aten.impl("_flash_attention_forward", TORCH_FN(flash_forward));
  } else {
    aten.impl("_flash_attention_forward", TORCH_FN(flash_forward_until_2_11));
  }
}

const OperatorGroup kFlashOperators(&put_flash_attention);

}  // namespace

}  // namespace torchport::vdev
