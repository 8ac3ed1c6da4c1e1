// What torch's own profilers ask of CUDA.
#pragma once

namespace torchport::vdev {

// Answers for CUDA where the virtual devices are of that kind.
void register_profiler();

}  // namespace torchport::vdev
