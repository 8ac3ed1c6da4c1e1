// Implements the grid samplers for coordinates that are no numbers as CUDA does (GridSampler.cuh):
// such a place lies outside of the image, or at its first pixel where coordinates are clipped. The
// CPU's kernels compute with them, so that the result is NaN.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/grid_sampler_3d.h>
#include <ATen/ops/grid_sampler_3d_backward.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using torch::jit::Stack;

constexpr std::int64_t kBicubic = 2;
constexpr std::int64_t kZerosOutside = 0;
constexpr std::int64_t kBorderOutside = 1;

// Whether a coordinate is infinite or NaN; then a sum is, too.
bool has_no_numbers(const Tensor& grid) {
  Aliases aliases;
  const Tensor host = aliases.of(grid, Aliases::Use::kReads);
  const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset);
  return !std::isfinite(host.sum().item<double>());
}

struct FiniteGrid {
  Tensor finite;   // float32 or float64
  Tensor outside;  // the places that lie outside of the image, with a dimension for the channels
};

FiniteGrid finite_grid(const Tensor& grid, std::int64_t padding) {
  const Tensor wide = at::isReducedFloatingType(grid.scalar_type()) ? grid.to(at::kFloat) : grid;
  const Tensor finite = at::isfinite(wide);
  // A border clips infinite coordinates as it does large ones.
  const Tensor usable = padding == kBorderOutside ? wide.eq(wide) : finite;
  return {at::where(usable, wide, at::full_like(wide, -1)),
          finite.all(-1).logical_not().unsqueeze(1)};
}

template <bool kThree>
Tensor grid_sampled(const Tensor& input, const Tensor& grid, std::int64_t mode,
                    std::int64_t padding, bool align) {
  if constexpr (kThree) return at::grid_sampler_3d(input, grid, mode, padding, align);
  return at::grid_sampler_2d(input, grid, mode, padding, align);
}

// (Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)
template <bool kThree>
void sample_finite(Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 5);
  const Tensor input = arguments[0].toTensor();
  const std::int64_t padding = arguments[3].toInt();
  const FiniteGrid grid = finite_grid(arguments[1].toTensor(), padding);
  Tensor result = grid_sampled<kThree>(input.to(grid.finite.scalar_type()), grid.finite,
                                       arguments[2].toInt(), padding, arguments[4].toBool());
  if (padding == kZerosOutside) result = result.masked_fill(grid.outside, 0);
  stack->emplace_back(result.to(input.scalar_type()));
}

// (Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool
// align_corners, bool[2] output_mask)
template <bool kThree>
void sample_finite_backward(Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 7);
  const Tensor input = arguments[1].toTensor();
  const FiniteGrid grid = finite_grid(arguments[2].toTensor(), kZerosOutside);
  const at::ScalarType type = grid.finite.scalar_type();
  const Tensor grad = arguments[0].toTensor().to(type).masked_fill(grid.outside, 0);
  const std::array<bool, 2> mask = {arguments[6].toBoolList()[0], arguments[6].toBoolList()[1]};
  const auto computed = [&](auto backward_of) {
    return backward_of(grad, input.to(type), grid.finite, arguments[3].toInt(),
                       arguments[4].toInt(), arguments[5].toBool(), mask);
  };
  const auto [of_input, of_grid] =
      kThree ? computed(&at::grid_sampler_3d_backward) : computed(&at::grid_sampler_2d_backward);
  for (const Tensor& result : {of_input, of_grid})
    stack->emplace_back(result.defined() ? result.to(input.scalar_type()) : result);
}

template <bool kThree>
Compute choose_sampler(const c10::IValue* arguments) {
  const bool is_refused = !arguments[1].toTensor().is_floating_point();
  const bool is_bicubic = arguments[2].toInt() == kBicubic;
  return !is_refused && !is_bicubic && has_no_numbers(arguments[1].toTensor())
             ? &sample_finite<kThree>
             : nullptr;
}

template <bool kThree>
Compute choose_sampler_backward(const c10::IValue* arguments) {
  const bool is_like_cpu =
      arguments[3].toInt() == kBicubic || arguments[4].toInt() != kZerosOutside;
  const bool is_refused = !arguments[2].toTensor().is_floating_point();
  return !is_refused && !is_like_cpu && has_no_numbers(arguments[2].toTensor())
             ? &sample_finite_backward<kThree>
             : nullptr;
}

void put_grid_sampler(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_choice(aten, "grid_sampler_2d", "", &choose_sampler<false>);
  put_choice(aten, "grid_sampler_3d", "", &choose_sampler<true>);
  put_choice(aten, "grid_sampler_2d_backward", "", &choose_sampler_backward<false>);
  put_choice(aten, "grid_sampler_3d_backward", "", &choose_sampler_backward<true>);
}

const OperatorGroup kGridSampler(&put_grid_sampler);

}  // namespace

}  // namespace torchport::vdev
