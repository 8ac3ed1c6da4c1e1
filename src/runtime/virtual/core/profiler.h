// Answers what torch's own profilers ask of CUDA. Without it they refuse to record device events in
// a process with virtual devices.
#pragma once

namespace torchport::vdev {

// Registers the answers if the virtual devices are CUDA devices.
void register_profiler();

}  // namespace torchport::vdev
