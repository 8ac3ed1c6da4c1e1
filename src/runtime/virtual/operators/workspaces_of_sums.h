// What sums over rows take of the device: where there are fewer results than a device has threads,
// several blocks of threads add up parts of one result, and leave their parts in a buffer.
//
// The size follows from aten/src/ATen/native/cuda/Reduce.cuh, setReduceConfig() and
// global_memory_size(): 132 MiB for the gradient of a bias of 3072 elements on an H100. Where the
// dimension of the sum is the one that lies side by side, the parts are kilobytes, and are not
// counted.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

// The blocks of a sum of `self` over `dims`, of all dimensions if there are none. `element` is the
// size of a number that is added up. Thread safe.
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_sum(const at::Tensor& self,
                                                             c10::IntArrayRef dims,
                                                             std::int64_t element);

// The two sizes of Reduce.cuh for `outputs` sums over `inputs` numbers each, where `together`
// outputs are read at once: bytes of the parts and of the semaphores; 0 if no parts are kept.
struct SumBuffers {
  std::int64_t parts = 0;
  std::int64_t semaphores = 0;
};
[[nodiscard]] SumBuffers buffers_of_sum(std::int64_t outputs, std::int64_t inputs,
                                        std::int64_t together, std::int64_t element,
                                        std::int64_t multiprocessors, std::int64_t threads);

}  // namespace torchport::vdev
