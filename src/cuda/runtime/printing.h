// What kernels print. It appears when the host waits for the device, as on a GPU.
#pragma once

namespace torchport::cuda {

// Writes what was printed to the standard output. Thread safe.
void show_prints();

}  // namespace torchport::cuda
