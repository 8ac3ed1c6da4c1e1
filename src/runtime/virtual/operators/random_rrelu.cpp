// Implements the leaky ReLU with random slopes as CUDA does
// (aten/src/ATen/native/cuda/RreluWithNoise.cu).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/leaky_relu.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_fill.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

namespace {

using at::Scalar;
using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;

// The three are aliases without gaps.
void draw_slopes(const Tensor& input, const Tensor& output, const Tensor& noise, double lower,
                 double upper, PhiloxGenerator& generator) {
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, input.scalar_type(), "rrelu_with_noise_out_cuda", [&] {
        using Draw =
            DrawUniform<std::conditional_t<std::is_same_v<scalar_t, double>, double, float>>;
        const auto elements = static_cast<std::uint64_t>(input.numel());
        const DrawGrid grid = draw_grid(elements, Draw::kPerBlock);
        const device::PhiloxPlace place = generator.reserve(grid.numbers);
        const auto* const from = input.const_data_ptr<scalar_t>();
        auto* const to = output.mutable_data_ptr<scalar_t>();
        auto* const slopes = noise.mutable_data_ptr<scalar_t>();
        const double range = upper - lower;
        const auto one = [=](std::uint64_t i, double number) {
          const auto slope = static_cast<scalar_t>(
              static_cast<at::opmath_type<scalar_t>>(fused(number, range, lower)));
          const bool is_below = from[i] <= static_cast<scalar_t>(0);
          to[i] = is_below ? static_cast<scalar_t>(from[i] * slope) : from[i];
          slopes[i] = is_below ? slope : static_cast<scalar_t>(1);
        };
        each_draw<Draw>(
            grid, place, elements,
            [&](std::uint64_t first, const typename Draw::Value* values, std::size_t count) {
              for (std::size_t i = 0; i < count; ++i)
                one(first + i, static_cast<double>(static_cast<scalar_t>(values[i])));
            });
      });
}

Tensor& rrelu_out(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
                  bool training, MaybeGenerator generator, Tensor& out) {
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) return out;
  if (!training) {
    const Scalar slope = (lower.to<double>() + upper.to<double>()) / 2;
    return at::leaky_relu_out(out, self, slope);
  }
  const MaybeGenerator chosen = generator_for(self, generator);
  Aliases aliases;
  const Tensor input = aliases.of(self).contiguous();
  Tensor output = aliases.of(out);
  const Tensor result = output.contiguous();
  // A noise with gaps gets no slopes: a real device writes them into a copy.
  draw_slopes(input, result, aliases.of(noise).contiguous(), lower.to<double>(), upper.to<double>(),
              *at::check_generator<PhiloxGenerator>(chosen));
  if (!output.is_contiguous()) output.copy_(result);
  return out;
}

Tensor rrelu(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
             bool training, MaybeGenerator generator) {
  Tensor out = at::empty_like(self, at::MemoryFormat::Contiguous);
  return rrelu_out(self, noise, lower, upper, training, std::move(generator), out);
}

Tensor& rrelu_inplace(Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
                      bool training, MaybeGenerator generator) {
  return rrelu_out(self, noise, lower, upper, training, std::move(generator), self);
}

void put_rrelu(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("rrelu_with_noise", TORCH_FN(rrelu));
  aten.impl("rrelu_with_noise_", TORCH_FN(rrelu_inplace));
  aten.impl("rrelu_with_noise.out", TORCH_FN(rrelu_out));
}

const OperatorGroup kRrelu(&put_rrelu);

}  // namespace

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace torchport::vdev
