// Ends a process safely: autograd's threads have to be idle before Python's interpreter ends.
#pragma once

#include <atomic>

namespace torchport::vdev {

// Whether this process itself (not its parent) allocated memory on a device. Only then can a
// backward pass have run on one.
inline std::atomic<bool> device_was_used{false};

// Returns when the autograd thread of each device has started and has released everything that it
// was given. Call it without Python's lock, which those threads may need.
//
// For its caller a backward pass ends a little earlier than for the thread that ran it: that thread
// still destroys the pass's task, and Python objects with it. If the interpreter ends meanwhile,
// CPython ends the thread in the middle of a destructor, and C++ ends the process ("terminate
// called without an active exception").
void wait_for_autograd();

}  // namespace torchport::vdev
