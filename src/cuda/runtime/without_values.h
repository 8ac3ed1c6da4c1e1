// Devices without data: launches and copies that are given memory whose values are not there
// (runtime/device/cuda_devices.h has the other side, PyTorch's devices).
//
// A kernel's arguments are opaque, so each aligned word of them that is an address of a device's
// memory counts as a pointer. Memory of cudaMalloc is as that of a tensor: large blocks have no
// values.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "cuda/runtime/copies.h"

namespace torchport::cuda {

// Counts a launch with these arguments. True: it must not run.
bool leaves_out(const char* kernel, const void* arguments, std::size_t bytes);
// As that, for a function of a library that is given this memory.
bool leaves_out_call(const char* name, std::initializer_list<const void*> memory);

// Counts a copy, or a memset if nothing is read. False: it is not to be done, or was done.
bool is_to_be_copied(const Box& box, bool waits);
bool is_to_be_set(const void* to, std::size_t bytes);

}  // namespace torchport::cuda

// Counts a call of another library that computes on the host. True: it has nothing to do.
extern "C" __attribute__((visibility("default"))) bool torchport_cuda_leaves_out(
    const char* name, const void* memory);
