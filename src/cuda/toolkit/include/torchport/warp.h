// Where threads wait for each other: barriers of a block, and exchanges of a warp. Every other
// function between lanes is made of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "torchport/kernel.h"
#include "torchport/turns.h"

namespace torchport::cuda {

TORCHPORT_CUDA_API void wait_for_block_slowly(const Site& site);
// Waits until all threads of the block that have not ended have come.
__attribute__((always_inline)) inline void wait_for_block(const Site& site) {
  if (!wait_quickly(site)) wait_for_block_slowly(site);
}
// A barrier of its own number, 0 to 15, for `threads` of the block; 0: all. `wait` false: the
// thread only says that it has come.
TORCHPORT_CUDA_API void wait_for_threads(unsigned number, unsigned threads, bool wait,
                                         const Site& site);
// Waits for the `threads` threads of tile `rank` of those of `size`, a power of two from 64 to
// 1024.
TORCHPORT_CUDA_API void wait_for_tile(unsigned size, unsigned rank, unsigned threads,
                                      const Site& site);
// Where a thread of the block keeps a value that others may take until they have waited again, and
// how they take it.
TORCHPORT_CUDA_API void leave_for_tile(unsigned thread, const void* mine);
TORCHPORT_CUDA_API void take_from_tile(unsigned thread, void* to, std::size_t bytes);
// Waits for all blocks of a cooperative launch.
TORCHPORT_CUDA_API void wait_for_grid(const Site& site);
TORCHPORT_CUDA_API bool is_cooperative();
TORCHPORT_CUDA_API const void* exchange_slowly(unsigned mask, const void* mine, std::size_t bytes,
                                               const Site& site);
// Leaves `bytes` bytes, and waits until all lanes of `mask` that have not ended have come. Returns
// where the value of lane 0 lies; that of lane i is i * bytes behind. It may be read until this
// thread calls any function of this header again. Values of lanes outside of the mask are not
// defined.
__attribute__((always_inline)) inline const void* exchange(unsigned mask, const void* mine,
                                                           std::size_t bytes, const Site& site) {
  const void* all = exchange_quickly(mask, mine, bytes, site);
  return all != nullptr ? all : exchange_slowly(mask, mine, bytes, site);
}
// Tells a checker of kernels whose value this thread reads of what `exchange` returned.
TORCHPORT_CUDA_API void check_lane(unsigned lane, const Site& site);
// The lanes of this warp that are at this call.
TORCHPORT_CUDA_API unsigned active_lanes(const void* site);
// Lets others run, because this thread waits for a value in memory.
TORCHPORT_CUDA_API void yield();
// The place of this thread: its lane and warp.
TORCHPORT_CUDA_API unsigned number_of_thread();
inline unsigned lane_of_thread() {
  const Walk* me = torchport_cuda_walk;
  return (me != nullptr && me->quick ? me->thread : number_of_thread()) % 32;
}
inline unsigned warp_of_thread() {
  return number_of_thread() / 32;
}
// The dynamic shared memory of the launch, in bytes.
TORCHPORT_CUDA_API std::size_t dynamic_shared_bytes();
// The thread ends here, as by the instruction exit of PTX.
[[noreturn]] TORCHPORT_CUDA_API void exit_thread();
// The kernel ends with an error. Does not return.
[[noreturn]] TORCHPORT_CUDA_API void trap(const char* why);
// As the assert of a device: prints what failed and where, and ends the kernel.
[[noreturn]] TORCHPORT_CUDA_API void assert_failed(const char* expression, const char* file,
                                                   unsigned line, const char* function);

// As `exchange`, into a place of the caller's: 32 * bytes.
inline void warp_exchange(unsigned mask, const void* mine, void* all, std::size_t bytes,
                          const char* what) {
  std::memcpy(all, exchange(mask, mine, bytes, {what, "", 0}), 32 * bytes);
}

}  // namespace torchport::cuda
