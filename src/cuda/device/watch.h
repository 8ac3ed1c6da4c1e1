// Ends kernels that run too long: by ctrl-C, and after TORCHPORT_KERNEL_SECONDS if the variable is
// set.
//
// A thread looks at the launches that run, some times a second. While one takes long, the process
// has a handler for SIGINT that leaves the kernels; then the signal goes to the handler that was
// there before. Threads are made to leave by a signal of their own, but only where they run the
// program's code: within a library they may hold a lock.
#pragma once

#include "cuda/device/launch.h"

namespace torchport::cuda {

inline constexpr const char* kSecondsVariable = "TORCHPORT_KERNEL_SECONDS";

class Block;

// A launch runs as long as this lives.
class Watched {
 public:
  explicit Watched(Launch& launch);
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched();

 private:
  Launch& launch_;
};

// Gives SIGINT to the handler that was there before.
void pass_interrupt_on();

// Asks all threads of a launch to leave it; called again and again until they have.
void signal_threads_of(const Launch& launch, int signal);

}  // namespace torchport::cuda
