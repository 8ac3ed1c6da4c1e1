// Attention: the CPU's fused kernel where the CPU would take it, plain mathematics elsewhere.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "virtual/natives.h"

namespace torchport::vdev {

namespace {

// The numbers of sdp::SDPBackend.
constexpr std::int64_t kMath = 0;

std::int64_t choice(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                    const std::optional<at::Tensor>&, double, bool, std::optional<double>, bool) {
  return kMath;
}

}  // namespace

void register_attention(torch::Library& aten) {
  aten.impl("_fused_sdp_choice", TORCH_FN(choice));
}

}  // namespace torchport::vdev
