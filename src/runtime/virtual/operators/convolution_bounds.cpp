#include "runtime/virtual/operators/convolution_bounds.h"

#include <algorithm>

namespace torchport::vdev {

namespace {

std::int64_t divided_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

std::int64_t power_of_2(std::int64_t number) {
  std::int64_t power = 1;
  while (power < number) power *= 2;
  return power;
}

bool is_all(const c10::IValue& list, std::int64_t number) {
  const auto values = list.toDimVector();
  return std::all_of(values.begin(), values.end(), [&](auto value) { return value == number; });
}

// A convolution of squares over images without strides, which the algorithms of transforms take.
struct Images {
  std::int64_t channels = 0;  // of all images, input and output
  std::int64_t weights = 0;   // pairs of channels
  std::int64_t height = 0;    // of an output
  std::int64_t width = 0;
  std::int64_t kernel = 0;

  // Transforms of tiles, each of whose outputs has `step` elements in each direction.
  [[nodiscard]] std::int64_t tiles(std::int64_t step, std::int64_t tile_bytes) const {
    const std::int64_t count = divided_up(height, step) * divided_up(width, step);
    return tile_bytes * (channels * count + weights);
  }
};

std::int64_t by_fourier(const Images& images) {
  constexpr std::int64_t kComplex = 8, kTile = 32, kLargest = 256;
  std::int64_t most = 0;
  const std::int64_t whole = power_of_2(std::max(images.height, images.width) + images.kernel - 1);
  if (whole <= kLargest)
    most = whole * (whole / 2 + 1) * kComplex * (images.channels + images.weights);
  if (images.kernel < kTile)
    most =
        std::max(most, images.tiles(kTile - images.kernel + 1, kTile * (kTile / 2 + 1) * kComplex));
  return most;
}

std::int64_t by_winograd(const Images& images) {
  constexpr std::int64_t kStep = 4;  // F(4 x 4, 3 x 3) and F(4 x 4, 5 x 5)
  if (images.kernel != 3 && images.kernel != 5) return 0;
  const std::int64_t side = kStep + images.kernel - 1;
  return images.tiles(kStep, side * side * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace

ConvolutionBounds bounds_of(const ConvolutionCall& call, std::int64_t output) {
  const at::Tensor &input = call.input, &weight = call.weight;
  const auto bytes = static_cast<std::int64_t>(input.element_size());
  const std::int64_t together = std::max<std::int64_t>(16 / bytes, 1);
  const std::int64_t batch = input.size(0), ins = input.size(1);
  const std::int64_t groups = std::max<std::int64_t>(call.groups(), 1);
  const std::int64_t outs = call.is_transposed() ? weight.size(1) * groups : weight.size(0);
  // The elements of all channels, of which each group has its own.
  const auto padded = [&](std::int64_t elements, std::int64_t channels) {
    const std::int64_t of_group = std::max<std::int64_t>(channels / groups, 1);
    return elements / of_group * divided_up(of_group, together) * together;
  };
  const std::int64_t copies =
      bytes * (padded(input.numel(), ins) + padded(output, outs) + weight.numel());
  std::int64_t tried = copies;
  if (input.dim() == 4 && !call.is_transposed() && weight.size(2) == weight.size(3) &&
      weight.size(2) > 1 && is_all(call.stride(), 1) && is_all(call.dilation(), 1)) {
    const auto padding = call.padding().toDimVector();
    const std::int64_t kernel = weight.size(2);
    const auto size = [&](std::int64_t dim) {
      const std::int64_t more = padding.empty() ? 0 : padding[dim == 2 ? 0 : padding.size() - 1];
      return input.size(dim) + 2 * more - kernel + 1;
    };
    const Images images{.channels = batch * (ins + outs),
                        .weights = ins * outs / groups,
                        .height = size(2),
                        .width = size(3),
                        .kernel = kernel};
    tried = std::max({tried, by_fourier(images), by_winograd(images)});
  }
  return {static_cast<std::uint64_t>(copies), static_cast<std::uint64_t>(tried)};
}

}  // namespace torchport::vdev
