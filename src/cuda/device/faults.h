// What a kernel does that the host's processor refuses: accesses of memory that is not there,
// divisions by zero.
//
// A handler of the signal lets the thread of the kernel go on in Block::faulted(), on its own stack
// from the beginning, so that it leaves the kernel as any error does. A division goes on with what
// a GPU computes. Faults outside of kernels go to the handlers that were there before.
#pragma once

#include <string>

namespace torchport::cuda {

class Block;

struct Fault {
  const void* address = nullptr;
  int error = 0;  // a cudaError_t
  enum Access : unsigned char { kReads, kWrites, kUses } access = kReads;
};

// Says what the runtime knows of an address; empty: nothing.
using Describe = std::string (*)(const void* address);
void describe_addresses_by(Describe describe);
std::string describe(const Fault& fault);

// The thread of the host that calls runs blocks from now on. Installs the handlers at the first
// call.
void watch_thread(Block* block);
void forget_thread(Block* block);
// Lets the calling thread, which was started with all signals blocked, take those that kernels
// need.
void take_signals_of_kernels();
// The signal by which a thread leaves a kernel that has failed.
int leave_signal();

}  // namespace torchport::cuda
