// Implements cuDNN's attention: dense as (batch, head, step, element), and packed sequences of
// several lengths as (step, head, element). Sources: attention.cu and attention_backward.cu in
// aten/src/ATen/native/transformers/cuda, aten/src/ATen/native/cudnn/MHA.cpp.
//
// What is not a real device's: which elements dropout keeps. How cuDNN draws them is not published,
// so they are those of the memory-efficient kernel for the same seed and offset, which are a real
// device's.
#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_cudnn_attention_backward.h>
#include <ATen/ops/_cudnn_attention_forward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_permuted.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/attention_call.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using CudnnForward =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;
using CudnnBackward = std::tuple<Tensor, Tensor, Tensor>;

// An empty tensor with dimensions in the order in which those of the query lie in memory.
Tensor empty_in_layout(const Tensor& query, const std::vector<std::int64_t>& sizes) {
  if (query.sizes() == at::IntArrayRef(sizes)) return at::empty_like(query);
  std::vector<std::int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return query.stride(a) > query.stride(b);
  });
  return at::empty_permuted(sizes, order, query.options());
}

MaybeTensor whole_cudnn_bias(const MaybeTensor& bias, const Tensor& query, const Tensor& key) {
  if (!has(bias)) return std::nullopt;
  const std::int64_t dimensions = bias->dim();
  TORCH_CHECK(dimensions >= 2 && dimensions <= 4,
              "cuDNN SDPA expects either a 2D, 3D, or 4D attn_bias but got ", dimensions, "D");
  const std::int64_t heads = dimensions == 4 ? bias->size(1) : 1;
  return bias->expand({query.size(0), heads, query.size(2), key.size(2)});
}

void check_cudnn(const Tensor& query, const Tensor& key, const Tensor& value) {
  constexpr std::int64_t kMultiple = 8;
  const at::ScalarType type = query.scalar_type();
  TORCH_CHECK(query.size(-1) % kMultiple == 0 && value.size(-1) % kMultiple == 0,
              "cuDNN Frontend error: hidden_dim should be multiple of 8");
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16,
              "cuDNN attention only supports float16 and bfloat16, got ", type);
  TORCH_CHECK(key.scalar_type() == type && value.scalar_type() == type,
              "cuDNN attention expects query, key and value to have the same dtype, got ", type,
              ", ", key.scalar_type(), " and ", value.scalar_type());
}

// What the passes have in common, over aliases on the CPU.
struct CudnnCall {
  CudnnCall(Aliases& aliases, const Tensor& given_query, const Tensor& given_key,
            const Tensor& given_value, const MaybeTensor& given_bias)
      : query(aliases.of(given_query)),
        key(aliases.of(given_key)),
        value(aliases.of(given_value)),
        bias(has(given_bias) ? MaybeTensor(aliases.of(*given_bias)) : std::nullopt) {}

  static Tensor as_heads_first(const Tensor& tensor, std::int64_t first, std::int64_t count) {
    if (tensor.dim() == 4) return tensor;
    return tensor.narrow(0, first, count).transpose(0, 1).unsqueeze(0);
  }

  [[nodiscard]] AttentionCall of(const AttentionPart& part) const {
    AttentionCall call{as_heads_first(query, part.query, part.queries),
                       as_heads_first(key, part.key, part.keys),
                       as_heads_first(value, part.key, part.keys),
                       std::nullopt,
                       {},
                       scale,
                       dropout.has_value() ? &*dropout : nullptr,
                       part.batch};
    if (query.dim() == 4) call.bias = whole_cudnn_bias(bias, query, key);
    if (causal) call.band.right = 0;
    return call;
  }

  Tensor query;
  Tensor key;
  Tensor value;
  MaybeTensor bias;
  bool causal = false;
  double scale = 1.0;
  std::optional<AttentionDropout> dropout;
};

std::vector<AttentionPart> cudnn_parts(const Tensor& query, const Tensor& key,
                                       const MaybeTensor& sums_of_query,
                                       const MaybeTensor& sums_of_key) {
  if (!has(sums_of_query)) return {{0, 0, query.size(2), 0, key.size(2)}};
  const auto queries = lengths_of(*sums_of_query);
  const auto keys = lengths_of(*sums_of_key);
  std::vector<AttentionPart> parts;
  for (std::size_t i = 0; i + 1 < queries.size(); ++i)
    parts.push_back({static_cast<std::int64_t>(i), queries[i], queries[i + 1] - queries[i], keys[i],
                     keys[i + 1] - keys[i]});
  return parts;
}

AttentionDropout cudnn_dropout(const device::PhiloxPlace& place, double probability,
                               const Tensor& query, std::int64_t queries, std::int64_t keys) {
  AttentionDropout dropout(AttentionDropout::Kernel::kEfficient, place, probability,
                           query.dim() == 4 ? query.size(1) : query.size(-2));
  dropout.set_elements_of_matrix(queries * keys);
  return dropout;
}

CudnnForward cudnn_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                           const MaybeTensor& bias, const MaybeTensor& sums_of_query,
                           const MaybeTensor& sums_of_key, c10::SymInt most_queries,
                           c10::SymInt most_keys, bool with_logarithms, double probability,
                           bool causal, bool, std::optional<double> scale) {
  check_on_one_device("_cudnn_attention_forward", {{"query", query},
                                                   {"key", key},
                                                   {"value", value},
                                                   {"attn_bias", bias},
                                                   {"cum_seq_q", sums_of_query},
                                                   {"cum_seq_k", sums_of_key}});
  check_cudnn(query, key, value);
  const at::NoGradGuard no_grad;
  const bool packed = has(sums_of_query);
  const std::int64_t queries = most_queries.expect_int();
  const std::int64_t keys = most_keys.expect_int();
  const std::int64_t batches = packed ? sums_of_query->numel() - 1 : query.size(0);
  const std::int64_t heads = packed ? query.size(-2) : query.size(1);
  device::PhiloxPlace place;
  if (probability != 0.0)
    place = reserve_for_mask(query, static_cast<std::uint64_t>(batches * heads * queries * keys));
  const SeedScalars seed = seed_scalars(place, query, true);
  std::vector<std::int64_t> sizes = query.sizes().vec();
  sizes.back() = value.size(-1);
  Tensor output = empty_in_layout(query, sizes);
  sizes.back() = 1;
  Tensor logarithms;
  if (with_logarithms) logarithms = at::empty(sizes, query.options().dtype(at::kFloat));
  Aliases aliases;
  CudnnCall call(aliases, query, key, value, bias);
  call.causal = causal;
  call.scale = attention_scale(query, scale);
  if (probability != 0.0) call.dropout = cudnn_dropout(place, probability, query, queries, keys);
  const Tensor to = aliases.of(output);
  for (const AttentionPart& part : cudnn_parts(query, key, sums_of_query, sums_of_key)) {
    const Attended attended = attend(call.of(part));
    CudnnCall::as_heads_first(to, part.query, part.queries).copy_(attended.output);
    if (with_logarithms)
      CudnnCall::as_heads_first(aliases.of(logarithms), part.query, part.queries)
          .copy_(attended.logarithms.unsqueeze(-1));
  }
  return {output,
          logarithms,
          packed ? *sums_of_query : Tensor(),
          packed ? *sums_of_key : Tensor(),
          most_queries,
          most_keys,
          seed.seed,
          seed.offset,
          Tensor()};
}

// From torch 2.14 on the operator also takes the lengths of the keys in use, and pages of keys.
CudnnForward cudnn_forward_of_pages(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const MaybeTensor& bias, const MaybeTensor& sums_of_query,
                                    const MaybeTensor& sums_of_key, c10::SymInt most_queries,
                                    c10::SymInt most_keys, bool with_logarithms, double probability,
                                    bool causal, bool debug, std::optional<double> scale,
                                    const MaybeTensor& used, const MaybeTensor& table) {
  TORCH_CHECK_NOT_IMPLEMENTED(!has(used) && !has(table),
                              "torchport: _cudnn_attention_forward with seqused_k or block_table "
                              "is not available on virtual devices");
  return cudnn_forward(query, key, value, bias, sums_of_query, sums_of_key, std::move(most_queries),
                       std::move(most_keys), with_logarithms, probability, causal, debug, scale);
}

bool knows_pages(const char* op) {
  const auto schema = c10::Dispatcher::singleton().findSchema({std::string("aten::") + op, ""});
  if (!schema) return false;
  const auto& arguments = schema->schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return argument.name() == "block_table";
  });
}

CudnnBackward cudnn_backward(const Tensor& grad, const Tensor& query, const Tensor& key,
                             const Tensor& value, const Tensor& output, const Tensor& logarithms,
                             const Tensor& seed, const Tensor& offset, const Tensor& bias,
                             const Tensor& sums_of_query, const Tensor& sums_of_key,
                             c10::SymInt most_queries, c10::SymInt most_keys, double probability,
                             bool causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  check_cudnn(query, key, value);
  warn_of_order("cuDNN Attention");
  const at::NoGradGuard no_grad;
  Tensor of_query = at::empty_like(query);
  Tensor of_key = at::empty_like(key);
  Tensor of_value = at::empty_like(value);
  Aliases aliases;
  CudnnCall call(aliases, query, key, value,
                 bias.defined() ? MaybeTensor(bias) : MaybeTensor(std::nullopt));
  call.causal = causal;
  call.scale = attention_scale(query, scale);
  if (probability != 0.0)
    call.dropout = cudnn_dropout(place_of(seed, offset), probability, query,
                                 most_queries.expect_int(), most_keys.expect_int());
  const Tensor from = aliases.of(grad);
  const Tensor out = aliases.of(output);
  const Tensor rows = aliases.of(logarithms);
  const auto write = [&](Tensor& to, std::int64_t first, std::int64_t count, const Tensor& found) {
    CudnnCall::as_heads_first(aliases.of(to), first, count).copy_(found);
  };
  for (const AttentionPart& part : cudnn_parts(query, key, sums_of_query, sums_of_key)) {
    const AttentionGradients found = attend_backward(
        call.of(part), CudnnCall::as_heads_first(from, part.query, part.queries),
        CudnnCall::as_heads_first(out, part.query, part.queries),
        CudnnCall::as_heads_first(rows, part.query, part.queries).squeeze(-1), false);
    write(of_query, part.query, part.queries, found.query);
    write(of_key, part.key, part.keys, found.key);
    write(of_value, part.key, part.keys, found.value);
  }
  return {of_query, of_key, of_value};
}

CudnnForward cudnn_dense(const Tensor& query, const Tensor& key, const Tensor& value,
                         const MaybeTensor& bias, bool with_logarithms, double probability,
                         bool causal, bool debug, std::optional<double> scale) {
  check_on_one_device("_scaled_dot_product_cudnn_attention",
                      {{"query", query}, {"key", key}, {"value", value}, {"attn_bias", bias}});
  return at::_cudnn_attention_forward(query, key, value, bias, std::nullopt, std::nullopt,
                                      query.size(2), key.size(2), with_logarithms, probability,
                                      causal, debug, scale);
}

CudnnBackward cudnn_dense_backward(const Tensor& grad, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const Tensor& output,
                                   const Tensor& logarithms, const Tensor& seed,
                                   const Tensor& offset, const Tensor& bias,
                                   const Tensor& sums_of_query, const Tensor& sums_of_key,
                                   c10::SymInt most_queries, c10::SymInt most_keys,
                                   double probability, bool causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  return at::_cudnn_attention_backward_symint(
      grad, query, key, value, output, logarithms, seed, offset, bias, sums_of_query, sums_of_key,
      std::move(most_queries), std::move(most_keys), probability, causal, scale);
}

void put_cudnn_attention(torch::Library& aten) {
  if (Runtime::get().kind().type != c10::DeviceType::CUDA) return;
  constexpr const char* kForward = "_cudnn_attention_forward";
  if (knows_pages(kForward))
    aten.impl(kForward, TORCH_FN(cudnn_forward_of_pages));
  else
    aten.impl(kForward, TORCH_FN(cudnn_forward));
  aten.impl("_cudnn_attention_backward", TORCH_FN(cudnn_backward));
  aten.impl("_scaled_dot_product_cudnn_attention", TORCH_FN(cudnn_dense));
  aten.impl("_scaled_dot_product_cudnn_attention_backward", TORCH_FN(cudnn_dense_backward));
}

const OperatorGroup kCudnnOperators(&put_cudnn_attention);

}  // namespace

}  // namespace torchport::vdev
