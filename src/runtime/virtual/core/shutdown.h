// The end of a process: autograd's threads are to be at rest before Python goes.
#pragma once

#include <atomic>

namespace torchport::vdev {

// Whether this process, its parent apart, had memory on a device: only then can a backward pass
// have been on one.
inline std::atomic<bool> device_was_used{false};

// Returns when each device's thread of autograd has started and has let go of all that it was
// given. To be called without Python's lock, which those threads may need.
//
// A backward pass is over for its caller a little before it is for the thread that ran it: that one
// still unmakes the pass's task, and with it Python objects. Where Python is at its end by then,
// CPython ends the thread in the middle of a destructor, and C++ ends the process ("terminate
// called without an active exception").
void wait_for_autograd();

}  // namespace torchport::vdev
