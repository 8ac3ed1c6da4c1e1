// Whether results are rounded as CUDA's kernels round them.
#pragma once

#include "runtime/device/spec.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

// False with `--random cpu`, whose results are those of the CPU bit by bit.
inline bool computes_as_cuda() {
  const Runtime& runtime = Runtime::get();
  return runtime.kind_name() == "cuda" && runtime.random_numbers() != device::RandomNumbers::kCpu;
}

}  // namespace torchport::vdev
