#include "runtime/virtual/operators/attention_math.h"

#include <algorithm>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros.h>

namespace torchport::vdev {

namespace {

using at::Tensor;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Some heads of one sequence: so many that their matrices stay small.
struct HeadShare {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t heads;
};

template <class Use>
void each_head_share(const AttentionCall& call, const Use& use) {
  constexpr std::int64_t kElementsOfShare = 1 << 22;
  const std::int64_t heads = call.query.size(1);
  const std::int64_t of_matrix = std::max<std::int64_t>(1, call.query.size(2) * call.key.size(2));
  const std::int64_t most = std::max<std::int64_t>(1, kElementsOfShare / of_matrix);
  for (std::int64_t batch = 0; batch < call.query.size(0); ++batch)
    for (std::int64_t head = 0; head < heads; head += most)
      use(HeadShare{batch, head, std::min(most, heads - head)});
}

at::ScalarType product_type(const Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Tensor in_product_type(const Tensor& tensor) {
  return tensor.to(product_type(tensor));
}

// With as many heads as the query, each in a row.
Tensor with_heads_of_query(const Tensor& tensor, std::int64_t heads) {
  const Tensor wide = in_product_type(tensor);
  return tensor.size(1) == heads ? wide : wide.repeat_interleave(heads / tensor.size(1), 1);
}

Tensor share_of(const Tensor& tensor, const HeadShare& share) {
  return tensor.select(0, share.batch).narrow(0, share.head, share.heads);
}

// The inputs in the type of the products, and what all shares need.
struct PreparedAttention {
  explicit PreparedAttention(const AttentionCall& given)
      : call(given),
        query(in_product_type(given.query)),
        key(with_heads_of_query(given.key, given.query.size(1))),
        value(with_heads_of_query(given.value, given.query.size(1))) {
    const std::int64_t queries = query.size(2);
    const std::int64_t keys = key.size(2);
    if (has(given.bias)) bias = given.bias->expand({query.size(0), query.size(1), queries, keys});
    if (!given.band.bounded()) return;
    const Tensor place = at::arange(queries, at::kLong).unsqueeze(1) + given.band.shift;
    const Tensor at_key = at::arange(keys, at::kLong).unsqueeze(0);
    hidden = at::zeros({queries, keys}, at::kBool);
    if (given.band.right >= 0) hidden.logical_or_(at_key > place + given.band.right);
    if (given.band.left >= 0) hidden.logical_or_(at_key < place - given.band.left);
  }

  // The scaled products with bias, minus infinity where a key is not seen.
  [[nodiscard]] Tensor scores(const HeadShare& share) const {
    Tensor result = at::bmm(share_of(query, share), share_of(key, share).transpose(1, 2));
    result.mul_(call.scale);
    if (bias.defined()) result.add_(share_of(bias, share));
    if (hidden.defined()) result.masked_fill_(hidden, kMinusInfinity);
    return result;
  }

  // 1 / (1 - p) for the kept elements, 0 for the others.
  [[nodiscard]] Tensor kept(const HeadShare& share, const Tensor& like) const {
    Tensor result = at::empty({like.size(0), like.size(1), like.size(2)}, at::kFloat);
    for (std::int64_t i = 0; i < share.heads; ++i) {
      Tensor of_head = result.select(0, i);
      call.dropout->draw(call.first_batch + share.batch, share.head + i, of_head);
    }
    return result.mul_(call.dropout->scale());
  }

  const AttentionCall& call;
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor bias;
  Tensor hidden;
};

// exp(scores - logarithms), in the memory of the scores; 0 in rows that see nothing.
Tensor attention_weights(const Tensor& scores, const Tensor& logarithms) {
  const Tensor finite = logarithms.masked_fill(at::isinf(logarithms), 0.0);
  return scores.sub_(finite.unsqueeze(-1)).exp_();
}

// Adds up what heads that share a key gave.
Tensor summed_over_heads(const Tensor& gradient, const Tensor& like) {
  const std::int64_t heads = like.size(1);
  if (gradient.size(1) == heads) return gradient;
  return gradient.unflatten(1, {heads, gradient.size(1) / heads}).sum(2);
}

}  // namespace

Attended attend_by_steps(const AttentionCall& call) {
  const at::NoGradGuard no_grad;
  const PreparedAttention prepared(call);
  const at::TensorOptions options = prepared.query.options();
  const Tensor output = at::empty(
      {call.query.size(0), call.query.size(1), call.query.size(2), call.value.size(3)}, options);
  const Tensor logarithms =
      at::empty({call.query.size(0), call.query.size(1), call.query.size(2)}, options);
  each_head_share(call, [&](const HeadShare& share) {
    const Tensor scores = prepared.scores(share);
    const Tensor sums = at::logsumexp(scores, -1);
    Tensor weights = attention_weights(scores, sums);
    if (call.dropout != nullptr) weights.mul_(prepared.kept(share, weights));
    share_of(output, share).copy_(at::bmm(weights, share_of(prepared.value, share)));
    share_of(logarithms, share).copy_(sums.masked_fill(sums == kMinusInfinity, -kMinusInfinity));
  });
  return {output.to(call.query.scalar_type()), logarithms};
}

Tensor attention_scores(const AttentionCall& call) {
  const PreparedAttention prepared(call);
  const Tensor result =
      at::empty({call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)},
                prepared.query.options());
  each_head_share(
      call, [&](const HeadShare& share) { share_of(result, share).copy_(prepared.scores(share)); });
  return result;
}

AttentionGradients attention_gradients(const AttentionCall& call, const Tensor& grad,
                                       const Tensor& output, const Tensor& logarithms,
                                       bool of_bias) {
  const at::NoGradGuard no_grad;
  const PreparedAttention prepared(call);
  const at::TensorOptions options = prepared.query.options();
  const Tensor wide_grad = in_product_type(grad);
  const Tensor sums = (wide_grad * in_product_type(output)).sum(-1, /*keepdim=*/true);
  const Tensor of_query = at::zeros(prepared.query.sizes(), options);
  const Tensor of_key = at::zeros(prepared.key.sizes(), options);
  const Tensor of_value = at::zeros(prepared.value.sizes(), options);
  Tensor bias_gradient;
  if (of_bias)
    bias_gradient = at::empty(
        {call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)}, options);
  each_head_share(call, [&](const HeadShare& share) {
    const Tensor weights =
        attention_weights(prepared.scores(share), share_of(logarithms, share).to(options.dtype()));
    const Tensor to_output = share_of(wide_grad, share);
    Tensor to_scores = at::bmm(to_output, share_of(prepared.value, share).transpose(1, 2));
    Tensor dropped = weights;
    if (call.dropout != nullptr) {
      const Tensor kept = prepared.kept(share, weights);
      to_scores.mul_(kept);
      dropped = weights * kept;
    }
    share_of(of_value, share).copy_(at::bmm(dropped.transpose(1, 2), to_output));
    to_scores.sub_(share_of(sums, share)).mul_(weights);
    if (of_bias) share_of(bias_gradient, share).copy_(to_scores);
    share_of(of_query, share)
        .copy_(at::bmm(to_scores, share_of(prepared.key, share)).mul_(call.scale));
    share_of(of_key, share)
        .copy_(
            at::bmm(to_scores.transpose(1, 2), share_of(prepared.query, share)).mul_(call.scale));
  });
  return {of_query.to(call.query.scalar_type()),
          summed_over_heads(of_key, call.key).to(call.key.scalar_type()),
          summed_over_heads(of_value, call.value).to(call.value.scalar_type()), bias_gradient};
}

}  // namespace torchport::vdev
