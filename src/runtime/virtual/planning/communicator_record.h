// Which groups of ranks have communicated over a device's own library, on which device and how: for
// the memory that NCCL takes beside PyTorch's allocator, which `torchport plan` tells
// (python/torchport/virtual/outside/nccl.py).
//
// A backend makes a communicator for a device when a collective first needs it (or when
// init_process_group() knows the device). A send or a receive outside of batch_isend_irecv() gets a
// communicator of its own for the two ranks (ProcessGroupNCCL::pointToPoint).
#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace torchport::vdev {

// An operator `c10d::...` runs on the group's backend. `peer`: the other rank of a send or a
// receive, else -1. Thread safe, as all functions here.
void record_communicator(const c10d::Backend& backend, c10::DeviceIndex device,
                         const std::string& operation, int peer);

// The process runs a collective of torch.cuda.nccl over its devices, which has a communicator for
// each list of them.
void record_communicator_of_process(const std::vector<c10::DeviceIndex>& devices);

// The backend makes its communicator before the first collective.
void record_eager_communicator(const c10d::Backend& backend, c10::DeviceIndex device);

// Sends and receives of the backend from here on are one call, in the communicator of the group.
void record_coalescing(const c10d::Backend& backend, bool begins);

}  // namespace torchport::vdev
