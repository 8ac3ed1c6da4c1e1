// Which part of a matrix has a factor of its own, and what a call of a product with such factors
// was given.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "devices/profile.h"

namespace torchport::vdev {

// The numbers are those of torch.nn.functional.ScalingType (ATen/BlasBackend.h, which torch 2.8
// has not).
enum class Scaling : std::uint8_t {
  kTensor,        // float32
  kRow,           // float32, for each row of the first and each column of the second matrix
  kBlock1x16,     // float8_e4m3fn in tiles
  kBlock1x32,     // float8_e8m0fnu in tiles
  kBlock1x128,    // float32
  kBlock128x128,  // float32
};

// Of the first and of the second matrix, which is seen transposed.
using Scalings = std::pair<Scaling, Scaling>;

// The arguments of _scaled_mm (`second` is false) or _scaled_mm_v2. Tensors that were not given are
// undefined.
struct ScaledCall {
  at::Tensor a;  // [m, k]
  at::Tensor b;  // [k, n]
  std::vector<at::Tensor> scale_a;
  std::vector<at::Tensor> scale_b;
  std::vector<std::int64_t> recipe_a;
  std::vector<std::int64_t> recipe_b;
  std::vector<std::int64_t> swizzle_a;
  std::vector<std::int64_t> swizzle_b;
  std::vector<std::int64_t> contraction;
  at::Tensor bias;
  at::Tensor scale_result;
  std::optional<at::ScalarType> type;
  bool fast = false;
  bool second = false;
  at::Tensor out;

  // `arguments` are those of the schema; with_out: there is one more, `out`.
  [[nodiscard]] static ScaledCall first_form(const c10::IValue* arguments, bool with_out);
  [[nodiscard]] static ScaledCall second_form(const c10::IValue* arguments, bool with_out);

  [[nodiscard]] at::ScalarType result_type() const {
    return out.defined() ? out.scalar_type() : type.value_or(a.scalar_type());
  }
  [[nodiscard]] bool has_no_product() const {
    return a.size(0) == 0 || a.size(1) == 0 || b.size(1) == 0;
  }
};

// The scalings of _scaled_mm, by the factors' types and shapes. Raises the device's error if they
// fit none.
[[nodiscard]] Scalings scalings_by_shape(const ScaledCall& call);

// The scalings of _scaled_mm_v2, by the recipes. Raises the device's error if they fit none.
// Float4 with a factor for the whole tensor, too, has two recipes.
[[nodiscard]] Scalings scalings_by_recipe(const ScaledCall& call);

// The same for grouped products; nothing if they fit none.
[[nodiscard]] std::optional<Scalings> find_recipe(const ScaledCall& call);

// Raises what the device raises for a call with these scalings (scaled_checks.cpp).
void check_scaled_call(const ScaledCall& call, const devices::Profile& profile);

}  // namespace torchport::vdev
