// CUDA's functions of a block: barriers with a result, fences, clocks, traps.
#pragma once

#include <atomic>

#include "torchport/warp_functions.h"

namespace torchport::cuda {

// How many threads of the block that have not ended pass true. Waits as __syncthreads().
TORCHPORT_CUDA_API int count_in_block(bool predicate, const Site& site);
// Nanoseconds and cycles of the device's clocks.
TORCHPORT_CUDA_API unsigned long long device_clock();
TORCHPORT_CUDA_API unsigned long long device_nanoseconds();
// clock(): in a kernel the low 32 bits of the cycles, as a clock_t; elsewhere that of <time.h>.
TORCHPORT_CUDA_API long clock_here();

}  // namespace torchport::cuda

inline int __syncthreads_count(int predicate, TORCHPORT_PLACE) {
  return ::torchport::cuda::count_in_block(predicate != 0, TORCHPORT_SITE("__syncthreads_count"));
}
inline int __syncthreads_or(int predicate, TORCHPORT_PLACE) {
  return ::torchport::cuda::count_in_block(predicate != 0, TORCHPORT_SITE("__syncthreads_or")) != 0;
}
inline int __syncthreads_and(int predicate, TORCHPORT_PLACE) {
  return ::torchport::cuda::count_in_block(predicate == 0, TORCHPORT_SITE("__syncthreads_and")) ==
         0;
}
inline void __barrier_sync(unsigned id, TORCHPORT_PLACE) {
  ::torchport::cuda::wait_for_threads(id, 0, true, TORCHPORT_SITE("__barrier_sync"));
}
inline void __barrier_sync_count(unsigned id, unsigned count, TORCHPORT_PLACE) {
  ::torchport::cuda::wait_for_threads(id, count, true, TORCHPORT_SITE("__barrier_sync_count"));
}

inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_block() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_system() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

inline long long clock64() {
  return static_cast<long long>(::torchport::cuda::device_clock());
}
inline unsigned long long globaltimer() {
  return ::torchport::cuda::device_nanoseconds();
}

// Lets other threads of the block and other blocks run.
inline void __nanosleep(unsigned /*nanoseconds*/) {
  ::torchport::cuda::yield();
}

// Work of the launch before is done when a kernel begins.
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

// The number of lanes of a warp.
constexpr int warpSize = 32;

inline void __trap() {
  ::torchport::cuda::trap("__trap()");
}
inline void __brkpt() {
  ::torchport::cuda::trap("__brkpt(), and no debugger is there");
}

#undef TORCHPORT_SITE
#undef TORCHPORT_PLACE
