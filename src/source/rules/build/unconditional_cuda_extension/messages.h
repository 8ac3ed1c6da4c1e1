// The start of one of TP702's messages, which tells build-plan when the extension is made.
#pragma once

#include <string_view>

namespace torchport::rules::unconditional_cuda_extension {

// Of an extension that is made for every torch with CUDA, and not for one for the CPU.
constexpr std::string_view kForTorchWithCuda = "Where torch is built for CUDA";

}  // namespace torchport::rules::unconditional_cuda_extension
