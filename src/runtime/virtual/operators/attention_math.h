// Computes attention and its gradients step by step on CPU tensors, for what the CPU's fused kernel
// cannot: dropout by a given mask, windows, values of another size than the keys, gradients of the
// bias. Products are in float32, or in float64 for float64.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "runtime/virtual/operators/attention_dropout.h"
#include "runtime/virtual/operators/maybe_tensor.h"

namespace torchport::vdev {

// The keys that a query sees. The query i stands at the key i + shift, and sees those from `left`
// before this one to `right` after it; -1 means unbounded.
struct AttentionBand {
  std::int64_t left = -1;
  std::int64_t right = -1;
  std::int64_t shift = 0;

  [[nodiscard]] bool bounded() const { return left >= 0 || right >= 0; }
};

// One call. All tensors are on the CPU, (batch, head, step, element); there may be fewer heads of
// keys and values, of which each serves as many neighbouring heads of queries.
struct AttentionCall {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  MaybeTensor bias;  // added to the products; broadcasts to (batch, head, query, key)
  AttentionBand band;
  double scale = 1.0;
  const AttentionDropout* dropout = nullptr;  // of the batch `first_batch` on
  std::int64_t first_batch = 0;
};

struct Attended {
  at::Tensor output;  // of the query's type
  at::Tensor
      logarithms;  // (batch, head, query): of the sums of exponentials; inf if no key is seen
};

// A query that sees no key gives zeros.
[[nodiscard]] Attended attend_by_steps(const AttentionCall& call);

// The scaled products with bias, minus infinity where a key is not seen: (batch, head, query, key),
// in the type of the products.
[[nodiscard]] at::Tensor attention_scores(const AttentionCall& call);

struct AttentionGradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor bias;  // undefined unless asked for; of the sizes of the attention matrices
};

// `output` and `logarithms` are those that the forward pass returned. The dropout is that of the
// forward pass.
[[nodiscard]] AttentionGradients attention_gradients(const AttentionCall& call,
                                                     const at::Tensor& grad,
                                                     const at::Tensor& output,
                                                     const at::Tensor& logarithms, bool of_bias);

}  // namespace torchport::vdev
