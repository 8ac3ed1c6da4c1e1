// A process group in which one process stands for a rank and the others are assumed to be alike:
// `--ranks 64` runs one process of a program of 64, and the collectives have their buffers.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace torchport::vdev {

// Whether the ranks of this process's groups are one process: TORCHPORT_RANKS is set. Then tensors
// of devices go to the group's backend as they are. Thread safe.
[[nodiscard]] bool ranks_are_alike();

// A group with the rank and the size of `group`, whose other ranks are assumed to be alike: for
// tensors without values, of which there is nothing to send. One for each group. Thread safe.
[[nodiscard]] c10::intrusive_ptr<c10d::ProcessGroup> alike_group(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group);

}  // namespace torchport::vdev
