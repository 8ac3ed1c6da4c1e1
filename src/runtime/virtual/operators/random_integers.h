// Draws integers as CUDA's random_(from, to) does, for kernels that need them as keys.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// Fills a CPU tensor with numbers of [from, to), or up to the highest of its type without `to`. The
// generator is a PhiloxGenerator. Raises c10::Error for a range that the type does not have.
void draw_integers(at::Tensor& host, std::int64_t from, std::optional<std::int64_t> to,
                   const std::optional<at::Generator>& generator);

}  // namespace torchport::vdev
