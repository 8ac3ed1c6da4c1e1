// What the products of groups of matrices are given, and what devices refuse of them.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "devices/profile.h"
#include "runtime/virtual/operators/scaled_recipes.h"

namespace torchport::vdev {

// The arguments of _grouped_mm, _scaled_grouped_mm or _scaled_grouped_mm_v2. A matrix of two
// dimensions holds all groups side by side: along the rows of the first, along the columns of the
// second, and along what is added up if both are such. The factors are in `scaled`, whose `a` and
// `b` are those matrices.
struct GroupedCall {
  ScaledCall scaled;
  at::Tensor offsets;  // [groups], the ends of the groups; undefined if there are none

  [[nodiscard]] static GroupedCall without_factors(const c10::IValue* arguments);
  [[nodiscard]] static GroupedCall first_form(const c10::IValue* arguments);
  [[nodiscard]] static GroupedCall second_form(const c10::IValue* arguments);

  [[nodiscard]] const at::Tensor& a() const { return scaled.a; }
  [[nodiscard]] const at::Tensor& b() const { return scaled.b; }
  [[nodiscard]] bool adds_over_groups() const { return a().dim() == 2 && b().dim() == 2; }
};

// Whether CUTLASS multiplies these matrices without factors on such a device; if not, the operator
// calls mm for each group, for which the host waits (GroupedBlas.cpp).
[[nodiscard]] bool is_by_cutlass(const GroupedCall& call, const devices::Profile& profile);

// Raise what a device of this profile raises.
void check_grouped(const GroupedCall& call);
void check_scaled_grouped(const GroupedCall& call, const devices::Profile& profile);

// The scaling of a call with factors, which is the same for both sides.
[[nodiscard]] Scaling grouped_scaling(const GroupedCall& call);

// A tensor of the CPU for the result, whose rows start at multiples of 16 bytes. Its elements are
// not set. Raises if the groups of the sides do not match.
[[nodiscard]] at::Tensor grouped_result(const GroupedCall& call, at::ScalarType type);

}  // namespace torchport::vdev
