// Implements the memory-efficient kernel's own operators, which xFormers, nested tensors and the
// dense operator call: (batch, step, head, element), or packed sequences of several lengths in one
// batch. Sources of the checks and their words: attention.cu, attention_backward.cu and
// mem_eff_attention/kernel_forward.h in aten/src/ATen/native/transformers/cuda.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/philox_generator.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/attention_call.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using MaybeInt = std::optional<c10::SymInt>;
using EfficientForward = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt>;

constexpr std::int64_t kLogarithmsOfBlock = 32;

// sdp::CustomMaskType
enum class CustomMask : std::int64_t { kNone, kFromTopLeft, kFromBottomRight, kCount };

std::int64_t whole_efficient_blocks(std::int64_t queries) {
  return (queries + kLogarithmsOfBlock - 1) / kLogarithmsOfBlock * kLogarithmsOfBlock;
}

void check_dense_sizes(const Tensor& query, const Tensor& key, const Tensor& value) {
  TORCH_CHECK(query.dim() == 4);
  TORCH_CHECK(key.dim() == 4);
  TORCH_CHECK(value.dim() == 4);
  TORCH_CHECK(query.size(0) == key.size(0));
  TORCH_CHECK(query.size(0) == value.size(0));
  TORCH_CHECK(key.size(1) == value.size(1));
  // Other kinds of devices have the CPU's kernel under this name, which takes grouped heads.
  if (Runtime::get().kind().type == c10::DeviceType::CUDA) {
    TORCH_CHECK(query.size(2) == key.size(2));
    TORCH_CHECK(query.size(2) == value.size(2));
  }
  TORCH_CHECK(query.size(3) == key.size(3));
}

void check_last_stride(const char* name, const Tensor& tensor) {
  TORCH_CHECK(tensor.stride(-1) == 1, name, ": last dimension must be contiguous");
}

void check_efficient_sequences(const Tensor& query, const MaybeTensor& starts_of_query,
                               const MaybeTensor& starts_of_key) {
  TORCH_CHECK(has(starts_of_query) == has(starts_of_key));
  if (!has(starts_of_query)) return;
  for (const MaybeTensor& starts : {starts_of_query, starts_of_key}) {
    TORCH_CHECK(starts->scalar_type() == at::kInt);
    TORCH_CHECK(starts->dim() == 1);
    TORCH_CHECK(starts->is_contiguous(), "cu_seqlens must be contiguous");
  }
  TORCH_CHECK(starts_of_query->size(0) == starts_of_key->size(0));
  TORCH_CHECK(query.size(0) == 1, "cu_seqlen only supports batch_size=1");
}

// The elements by which the heads of a kernel's inputs have to be apart.
std::int64_t least_efficient_alignment(const Tensor& query) {
  if (Runtime::get().kind().type != c10::DeviceType::CUDA) return 1;
  const devices::Profile& profile = *Runtime::get().profile();
  const bool half = query.scalar_type() != at::kFloat;
  const int capability = profile.major * 10 + profile.minor;
  if (capability >= 80 || (half && capability >= 75)) return 4;
  return half && capability >= 70 ? 2 : 1;
}

void check_efficient_kernel(const char* kernels, const Tensor& query, const Tensor& key,
                            const Tensor& value) {
  const at::ScalarType type = query.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kHalf || type == at::kBFloat16,
              "Only fp32, half & bf16 supported at the moment");
  const std::int64_t alignment = least_efficient_alignment(query);
  const bool aligned = query.stride(2) % alignment == 0 && key.stride(2) % alignment == 0 &&
                       value.stride(2) % alignment == 0;
  const bool known = type != at::kBFloat16 || Runtime::get().kind().type != c10::DeviceType::CUDA ||
                     Runtime::get().profile()->major >= 8;
  TORCH_CHECK(aligned && known, kernels, ": no kernel found to launch!");
}

void check_efficient_bias(const Tensor& query, const Tensor& key, const Tensor& bias) {
  check_last_stride("bias", bias);
  TORCH_CHECK(bias.scalar_type() == query.scalar_type(),
              "invalid dtype for bias - should match query's dtype");
  TORCH_CHECK(bias.dim() == 4, "Bias expected in BMHK format");
  TORCH_CHECK(bias.size(0) == query.size(0), "attn_bias: wrong shape (batch dimension)");
  TORCH_CHECK(bias.size(1) == query.size(2), "attn_bias: wrong shape (head dimension)");
  TORCH_CHECK(bias.size(2) == query.size(1), "attn_bias: wrong shape (seqlenQ dimension)");
  TORCH_CHECK(bias.size(3) == key.size(1), "attn_bias: wrong shape (seqlenKV dimension)");
}

AttentionBand efficient_band(std::int64_t mask, std::int64_t window, std::int64_t queries,
                             std::int64_t keys) {
  AttentionBand band;
  if (mask == static_cast<std::int64_t>(CustomMask::kNone)) return band;
  band.right = 0;
  if (mask == static_cast<std::int64_t>(CustomMask::kFromBottomRight)) band.shift = keys - queries;
  if (window > 0) band.left = window - 1;
  return band;
}

void check_efficient_mask(std::int64_t mask, std::int64_t window) {
  TORCH_CHECK(mask >= 0 && mask < static_cast<std::int64_t>(CustomMask::kCount),
              "invalid value for `custom_mask_type`");
  TORCH_CHECK(window <= 0 || mask != static_cast<std::int64_t>(CustomMask::kNone),
              "custom_mask_type not supported");
}

// The sequences of a call: all batches at once if they are not packed.
std::vector<AttentionPart> efficient_parts(const Tensor& query, const Tensor& key,
                                           const MaybeTensor& starts_of_query,
                                           const MaybeTensor& starts_of_key,
                                           const MaybeTensor& lengths) {
  if (!has(starts_of_query)) return {{0, 0, query.size(1), 0, key.size(1)}};
  const auto queries = lengths_of(*starts_of_query);
  const auto keys = lengths_of(*starts_of_key);
  const auto given = has(lengths) ? lengths_of(*lengths) : std::vector<std::int64_t>();
  std::vector<AttentionPart> parts;
  for (std::size_t i = 0; i + 1 < queries.size(); ++i)
    parts.push_back({static_cast<std::int64_t>(i), queries[i], queries[i + 1] - queries[i], keys[i],
                     given.empty() ? keys[i + 1] - keys[i] : given.at(i)});
  return parts;
}

// (batch, step, head, element) to (batch, head, step, element), of one part.
Tensor efficient_heads_first(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  return tensor.narrow(1, first, count).transpose(1, 2);
}

// Writes the result for one part, (batch, head, step, element), to a tensor that has the steps
// first.
void write_heads(Aliases& aliases, const Tensor& to, std::int64_t first, std::int64_t count,
                 Tensor result) {
  if (first == 0 && count == to.size(1)) {
    const Tensor steps_first = result.transpose(1, 2);
    result.reset();  // nobody else holds the memory then
    aliases.take(to, steps_first);
  } else {
    efficient_heads_first(to, first, count).copy_(result);
  }
}

// What the passes have in common, over aliases on the CPU.
struct EfficientCall {
  EfficientCall(Aliases& aliases, const Tensor& given_query, const Tensor& given_key,
                const Tensor& given_value, const MaybeTensor& given_bias)
      : query(aliases.of(given_query)),
        key(aliases.of(given_key)),
        value(aliases.of(given_value)),
        bias(has(given_bias) ? MaybeTensor(aliases.of(*given_bias)) : std::nullopt) {}

  [[nodiscard]] AttentionCall of(const AttentionPart& part) const {
    return {efficient_heads_first(query, part.query, part.queries),
            efficient_heads_first(key, part.key, part.keys),
            efficient_heads_first(value, part.key, part.keys),
            bias,
            efficient_band(mask, window, part.queries, part.keys),
            scale,
            dropout.has_value() ? &*dropout : nullptr,
            part.batch};
  }

  // The kernel for packed sequences counts the elements of a matrix by the longest sequence of
  // keys, which the operator sets to 0, so that all matrices start at the offset. PyTorch's
  // backward pass counts otherwise and draws another mask (pytorch/pytorch#115590); here both draw
  // that of the forward pass.
  void drop(const device::PhiloxPlace& place, double probability, bool packed) {
    dropout.emplace(AttentionDropout::Kernel::kEfficient, place, probability, query.size(2));
    if (packed) dropout->set_elements_of_matrix(0);
  }

  Tensor query;
  Tensor key;
  Tensor value;
  MaybeTensor bias;
  std::int64_t mask = 0;
  std::int64_t window = 0;
  double scale = 1.0;
  std::optional<AttentionDropout> dropout;
};

SeedScalars draw_efficient_seed(const Tensor& query, const Tensor& key, double dropout,
                                device::PhiloxPlace& place) {
  const bool on_device = runs_in_graph();
  if (dropout == 0.0) return seed_scalars({}, query, on_device);
  const std::int64_t numbers = query.size(0) * query.size(2) * query.size(1) * key.size(1);
  place = reserve_for_mask(query, static_cast<std::uint64_t>(numbers));
  return seed_scalars(place, query, on_device);
}

EfficientForward efficient_steps_forward(
    const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& bias,
    const MaybeTensor& starts_of_query, const MaybeTensor& starts_of_key, MaybeInt most_queries,
    MaybeInt most_keys, double dropout, std::int64_t mask, bool with_logarithms,
    std::optional<double> scale, const MaybeTensor& lengths, std::optional<std::int64_t> window) {
  check_on_one_device("_efficient_attention_forward", {{"query", query},
                                                       {"key", key},
                                                       {"value", value},
                                                       {"bias", bias},
                                                       {"cu_seqlens_q", starts_of_query},
                                                       {"cu_seqlens_k", starts_of_key},
                                                       {"seqlen_k", lengths}});
  check_dense_sizes(query, key, value);
  check_efficient_sequences(query, starts_of_query, starts_of_key);
  const bool packed = has(starts_of_query);
  TORCH_CHECK(!packed || most_queries.has_value());
  TORCH_CHECK(!packed || !has(bias), "cu seqlen + bias not supported");
  check_last_stride("query", query);
  check_last_stride("key", key);
  check_last_stride("value", value);
  check_efficient_kernel("cutlassF", query, key, value);
  if (has(bias)) check_efficient_bias(query, key, *bias);
  check_efficient_mask(mask, window.value_or(0));
  TORCH_CHECK(!has(lengths) || lengths->scalar_type() == at::kInt);

  const at::NoGradGuard no_grad;
  device::PhiloxPlace place;
  SeedScalars seed = draw_efficient_seed(query, key, dropout, place);
  const std::int64_t longest = packed ? most_queries->expect_int() : query.size(1);
  const std::int64_t sequences = packed ? starts_of_query->size(0) - 1 : query.size(0);
  Tensor output =
      at::empty({query.size(0), query.size(1), query.size(2), value.size(3)}, query.options());
  Tensor logarithms =
      at::empty({sequences, query.size(2), with_logarithms ? whole_efficient_blocks(longest) : 0},
                query.options().dtype(at::kFloat));
  Aliases aliases;
  EfficientCall call(aliases, query, key, value, bias);
  call.mask = mask;
  call.window = window.value_or(0);
  call.scale = attention_scale(query, scale);
  if (dropout != 0.0) call.drop(place, dropout, packed);
  const Tensor to = aliases.of(output);
  const Tensor rows = aliases.of(logarithms).fill_(std::numeric_limits<double>::infinity());
  if (packed) to.zero_();
  for (const AttentionPart& part :
       efficient_parts(query, key, starts_of_query, starts_of_key, lengths)) {
    Attended attended = attend(call.of(part));
    write_heads(aliases, to, part.query, part.queries, std::move(attended.output));
    if (with_logarithms)
      (packed ? rows.narrow(0, part.batch, 1) : rows)
          .narrow(2, 0, part.queries)
          .copy_(attended.logarithms);
  }
  const c10::SymInt keys =
      most_keys.has_value() ? *most_keys : c10::SymInt(packed ? 0 : key.size(1));
  return {output, logarithms, seed.seed, seed.offset, longest, keys};
}

// The gradient of a bias, whose rows the kernel aligns.
Tensor empty_bias_gradient(const Tensor& bias) {
  constexpr std::int64_t kAlign = 16;
  std::vector<std::int64_t> sizes = bias.sizes().vec();
  const std::int64_t keys = sizes.back();
  sizes.back() = (keys + kAlign - 1) / kAlign * kAlign;
  return at::empty(sizes, bias.options()).narrow(-1, 0, keys);
}

struct InputGradients {
  Tensor query;
  Tensor key;
  Tensor value;
};

InputGradients empty_input_gradients(const Tensor& query, const Tensor& key, const Tensor& value,
                                     bool shared) {
  if (!shared)
    return {at::empty(query.sizes(), query.options()), at::empty(key.sizes(), key.options()),
            at::empty(value.sizes(), value.options())};
  TORCH_CHECK(query.size(1) == key.size(1),
              "`shared_storage_dqdkdv` is only supported when Q/K/V have the same sequence length: "
              "got ",
              query.size(1), " query tokens and ", key.size(1), " key/value tokens");
  TORCH_CHECK(query.size(3) == key.size(3),
              "`shared_storage_dqdkdv` is only supported when Q/K/V have the same embed dim: got ",
              query.size(3), " for Q, and ", key.size(3), " for K");
  const Tensor all =
      at::empty({query.size(0), query.size(1), 3, query.size(2), query.size(3)}, query.options());
  return {all.select(2, 0), all.select(2, 1), all.select(2, 2)};
}

void check_efficient_longest(const Tensor& query, const Tensor& key, std::int64_t queries,
                             std::int64_t keys) {
  TORCH_CHECK(queries > 0, "max_seqlen_q required with `cu_seqlens_q`");
  TORCH_CHECK(keys > 0, "max_seqlen_k required with `cu_seqlens_k`");
  TORCH_CHECK(keys <= key.size(1), "Invalid max_seqlen_k:", keys);
  TORCH_CHECK(queries <= query.size(1), "Invalid max_seqlen_q:", queries);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_steps_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const MaybeTensor& bias, const Tensor& output, const MaybeTensor& starts_of_query,
    const MaybeTensor& starts_of_key, c10::SymInt most_queries, c10::SymInt most_keys,
    const Tensor& logarithms, double dropout, const Tensor& seed, const Tensor& offset,
    std::int64_t mask, bool of_bias, std::optional<double> scale, std::optional<std::int64_t>,
    std::optional<std::int64_t> window, bool shared) {
  if (!grad.defined()) return {};
  check_dense_sizes(query, key, value);
  check_efficient_sequences(query, starts_of_query, starts_of_key);
  const bool packed = has(starts_of_query);
  TORCH_CHECK(!(packed && has(bias)), "cu seqlen + bias not supported");
  if (packed)
    check_efficient_longest(query, key, most_queries.expect_int(), most_keys.expect_int());
  check_last_stride("query", query);
  check_last_stride("key", key);
  check_last_stride("value", value);
  check_efficient_kernel("cutlassB", query, key, value);
  if (has(bias)) check_efficient_bias(query, key, *bias);
  warn_of_order("Memory Efficient attention");

  const at::NoGradGuard no_grad;
  InputGradients gradients = empty_input_gradients(query, key, value, shared);
  Tensor of_the_bias = of_bias ? empty_bias_gradient(*bias) : Tensor();
  Aliases aliases;
  EfficientCall call(aliases, query, key, value, bias);
  call.mask = mask;
  call.window = window.value_or(0);
  call.scale = attention_scale(query, scale);
  if (dropout != 0.0) call.drop(place_of(seed, offset), dropout, packed);
  const Tensor from = aliases.of(grad);
  const Tensor out = aliases.of(output);
  const Tensor rows = aliases.of(logarithms);
  const Tensor to_query = aliases.of(gradients.query);
  const Tensor to_key = aliases.of(gradients.key);
  const Tensor to_value = aliases.of(gradients.value);
  if (packed)
    for (const Tensor& to : {to_query, to_key, to_value}) to.zero_();
  for (const AttentionPart& part :
       efficient_parts(query, key, starts_of_query, starts_of_key, std::nullopt)) {
    AttentionGradients found = attend_backward(
        call.of(part), efficient_heads_first(from, part.query, part.queries),
        efficient_heads_first(out, part.query, part.queries),
        (packed ? rows.narrow(0, part.batch, 1) : rows).narrow(2, 0, part.queries), of_bias);
    write_heads(aliases, to_query, part.query, part.queries, std::move(found.query));
    write_heads(aliases, to_key, part.key, part.keys, std::move(found.key));
    write_heads(aliases, to_value, part.key, part.keys, std::move(found.value));
    if (of_bias) aliases.of(of_the_bias).copy_(found.bias);
  }
  return {gradients.query, gradients.key, gradients.value, of_the_bias};
}

// Fills a tensor with the numbers of which the kernel keeps those above the probability.
Tensor& fill_dropout_mask(Tensor& self, double, std::int64_t seed, std::int64_t offset) {
  TORCH_CHECK(self.is_contiguous());
  TORCH_CHECK(self.scalar_type() == at::kFloat);
  TORCH_CHECK(self.dim() == 4);
  Aliases aliases;
  Tensor alias = aliases.of(self);
  fill_uniform({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(offset)}, alias);
  return self;
}

void put_efficient_attention(torch::Library& aten) {
  aten.impl("_efficient_attention_forward", TORCH_FN(efficient_steps_forward));
  aten.impl("_efficient_attention_backward", TORCH_FN(efficient_steps_backward));
  aten.impl("_fill_mem_eff_dropout_mask_", TORCH_FN(fill_dropout_mask));
}

const OperatorGroup kEfficientOperators(&put_efficient_attention);

}  // namespace

}  // namespace torchport::vdev
