// A process group in which one process stands for a rank and the others are assumed to be alike:
// `--ranks 64` runs one process of a program of 64, and the collectives have their buffers.
#pragma once

namespace torchport::vdev {

// Whether the ranks of this process's groups are one process: TORCHPORT_RANKS is set. Then tensors
// of devices go to the group's backend as they are. Thread safe.
[[nodiscard]] bool ranks_are_alike();

}  // namespace torchport::vdev
