// A runtime for testing the toolkit's headers by themselves: a launch is a loop over the grid, or with
// PLAIN_WARPS host threads of one block, which exchange values through a barrier.
#pragma once

#include <cstdlib>
#include <cstring>
#include <type_traits>

#if defined(PLAIN_WARPS)
#include <barrier>
#include <thread>
#include <vector>
#endif

#include "torchport/functions.h"
#include "vector_types.h"

enum cudaError_t { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
inline const char* cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }
template <class T>
cudaError_t cudaMalloc(T** at, size_t bytes) {
  *at = static_cast<T*>(std::aligned_alloc(256, (bytes + 511) / 256 * 256));
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* at) { return std::free(at), cudaSuccess; }
inline cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  return std::memset(at, value, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

#if defined(PLAIN_WARPS)
namespace plain {
struct Block {
  explicit Block(unsigned threads) : barrier(static_cast<std::ptrdiff_t>(threads)) {}
  std::barrier<> barrier;
  unsigned char values[32 * 64];
};
inline thread_local Block* block = nullptr;
}  // namespace plain
namespace torchport {
inline void warp_exchange(unsigned, const void* mine, void* all, size_t bytes, const char*) {
  std::memcpy(plain::block->values + threadIdx.x % 32 * bytes, mine, bytes);
  plain::block->barrier.arrive_and_wait();
  std::memcpy(all, plain::block->values, 32 * bytes);
  plain::block->barrier.arrive_and_wait();
}
}  // namespace torchport
inline void __syncthreads() { plain::block->barrier.arrive_and_wait(); }
inline void __syncwarp(unsigned = ~0u) { plain::block->barrier.arrive_and_wait(); }
#endif

template <class F>
void plain_launch(dim3 grid, dim3 block, F f) {
  for (unsigned b = 0; b < grid.x; ++b) {
#if defined(PLAIN_WARPS)
    plain::Block shared(block.x);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < block.x; ++t) {
      threads.emplace_back([&, t] {
        plain::block = &shared;
        blockIdx = {b, 0, 0}, threadIdx = {t, 0, 0}, blockDim = block, gridDim = grid;
        f();
      });
    }
    for (auto& one : threads) one.join();
#else
    for (unsigned t = 0; t < block.x; ++t) {
      blockIdx = {b, 0, 0}, threadIdx = {t, 0, 0}, blockDim = block, gridDim = grid;
      f();
    }
#endif
  }
}
