// CUDA C++ for the host. This header defines those parts of the language and the runtime that the
// kernels of PyTorch extensions need to compile with a C++ compiler. They run on virtual devices,
// whose memory is host memory.
//
// A launch runs its blocks one after another, and the threads of a block in the order of their
// index. In blocks with __syncthreads(), each thread has its own stack and runs up to the next
// barrier; then the next thread runs. Functions that need the threads of a warp to run together
// (shuffles, votes) do not compile.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <ucontext.h>

#include "torchport_device_math.h"

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(std::uint64_t x_ = 1, std::uint64_t y_ = 1, std::uint64_t z_ = 1)
      : x(static_cast<unsigned>(x_)), y(static_cast<unsigned>(y_)), z(static_cast<unsigned>(z_)) {}
};
struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
template <class T>
struct torchport_vector2 {
  T x, y;
};
template <class T>
struct torchport_vector4 {
  T x, y, z, w;
};
using float2 = torchport_vector2<float>;
using float4 = torchport_vector4<float>;
using double2 = torchport_vector2<double>;
using int2 = torchport_vector2<int>;
using int4 = torchport_vector4<int>;
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

namespace torchport_host {

inline thread_local dim3 grid_dim, block_dim;
inline thread_local uint3 block_idx, thread_idx;
inline thread_local std::vector<std::max_align_t> dynamic_shared;

// The threads of one block that meet at barriers, as coroutines.
class Fibers {
 public:
  template <class Body>
  static void run(std::size_t count, const Body& body) {
    Fibers fibers;
    fibers.contexts_.resize(count);
    fibers.done_.assign(count, false);
    fibers.index_.resize(count);
    std::vector<std::unique_ptr<char[]>> stacks(count);
    current() = &fibers;
    fibers.call_ = [](const void* b) { (*static_cast<const Body*>(b))(); };
    fibers.body_ = &body;
    std::size_t i = 0;
    for (unsigned z = 0; z < block_dim.z; ++z) {
      for (unsigned y = 0; y < block_dim.y; ++y) {
        for (unsigned x = 0; x < block_dim.x; ++x, ++i) {
          fibers.index_[i] = {x, y, z};
          stacks[i] = std::make_unique<char[]>(kStack);
          getcontext(&fibers.contexts_[i]);
          fibers.contexts_[i].uc_stack.ss_sp = stacks[i].get();
          fibers.contexts_[i].uc_stack.ss_size = kStack;
          fibers.contexts_[i].uc_link = &fibers.scheduler_;
          makecontext(&fibers.contexts_[i], &Fibers::enter, 0);
        }
      }
    }
    for (bool any = true; any;) {
      any = false;
      for (std::size_t k = 0; k < count; ++k) {
        if (fibers.done_[k]) continue;
        any = true;
        fibers.running_ = k;
        thread_idx = fibers.index_[k];
        swapcontext(&fibers.scheduler_, &fibers.contexts_[k]);
      }
    }
    current() = nullptr;
  }

  static void barrier() {
    Fibers* fibers = current();
    if (fibers == nullptr) return;  // a block of one thread
    swapcontext(&fibers->contexts_[fibers->running_], &fibers->scheduler_);
  }

 private:
  static constexpr std::size_t kStack = 128 * 1024;

  static Fibers*& current() {
    static thread_local Fibers* fibers = nullptr;
    return fibers;
  }
  static void enter() {
    Fibers* fibers = current();
    fibers->call_(fibers->body_);
    fibers->done_[fibers->running_] = true;
  }

  std::vector<ucontext_t> contexts_;
  std::vector<char> done_;
  std::vector<uint3> index_;
  ucontext_t scheduler_{};
  std::size_t running_ = 0;
  void (*call_)(const void*) = nullptr;
  const void* body_ = nullptr;
};

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  template <class Stream = std::nullptr_t>
  Configuration(dim3 grid_, dim3 block_, std::size_t shared_ = 0, const Stream& = {})
      : grid(grid_), block(block_), shared(shared_) {}
};

template <class Kernel, class... Arguments>
void launch(bool barriers, const Configuration& on, const Kernel& kernel, Arguments... arguments) {
  grid_dim = on.grid;
  block_dim = on.block;
  dynamic_shared.assign(on.shared / sizeof(std::max_align_t) + 1, {});
  const std::size_t threads = std::size_t{on.block.x} * on.block.y * on.block.z;
  const auto body = [&] { kernel(arguments...); };
  for (block_idx.z = 0; block_idx.z < on.grid.z; ++block_idx.z) {
    for (block_idx.y = 0; block_idx.y < on.grid.y; ++block_idx.y) {
      for (block_idx.x = 0; block_idx.x < on.grid.x; ++block_idx.x) {
        if (barriers && threads > 1) {
          Fibers::run(threads, body);
          continue;
        }
        for (thread_idx.z = 0; thread_idx.z < on.block.z; ++thread_idx.z)
          for (thread_idx.y = 0; thread_idx.y < on.block.y; ++thread_idx.y)
            for (thread_idx.x = 0; thread_idx.x < on.block.x; ++thread_idx.x) body();
      }
    }
  }
}

template <class T>
struct Atomic {
  static T exchange(T* address, T value) {
    const T old = *address;
    *address = value;
    return old;
  }
};

}  // namespace torchport_host

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define gridDim (::torchport_host::grid_dim)
#define blockDim (::torchport_host::block_dim)
#define blockIdx (::torchport_host::block_idx)
#define threadIdx (::torchport_host::thread_idx)
#define warpSize 32
#define __syncthreads() (::torchport_host::Fibers::barrier())
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __trap() (std::abort())

// One thread runs at a time, so plain arithmetic is atomic.
template <class T, class U>
T atomicAdd(T* address, U value) {
  return ::torchport_host::Atomic<T>::exchange(address, static_cast<T>(*address + value));
}
template <class T, class U>
T gpuAtomicAdd(T* address, U value) {
  return atomicAdd(address, value);
}
template <class T, class U>
void gpuAtomicAddNoReturn(T* address, U value) {
  atomicAdd(address, value);
}
template <class T, class U>
T atomicSub(T* address, U value) {
  return ::torchport_host::Atomic<T>::exchange(address, static_cast<T>(*address - value));
}
template <class T, class U>
T atomicMax(T* address, U value) {
  return ::torchport_host::Atomic<T>::exchange(address, std::max(*address, static_cast<T>(value)));
}
template <class T, class U>
T atomicMin(T* address, U value) {
  return ::torchport_host::Atomic<T>::exchange(address, std::min(*address, static_cast<T>(value)));
}
template <class T, class U>
T atomicExch(T* address, U value) {
  return ::torchport_host::Atomic<T>::exchange(address, static_cast<T>(value));
}
template <class T>
T atomicCAS(T* address, T compare, T value) {
  return *address == compare ? ::torchport_host::Atomic<T>::exchange(address, value) : *address;
}

template <class T>
T __ldg(const T* address) {
  return *address;
}

// The functions of the CUDA runtime that extensions call.
using cudaStream_t = void*;
enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "out of memory";
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
// Memory of the host. The device's account does not have it.
template <class T>
cudaError_t cudaMalloc(T** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 512;
  *data = bytes == 0 ? nullptr
                     : static_cast<T*>(std::aligned_alloc(
                           kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  return *data == nullptr && bytes > 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}
constexpr unsigned cudaMemAttachGlobal = 1;
template <class T>
cudaError_t cudaMallocManaged(T** data, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
  return cudaMalloc(data, bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** data, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(data, bytes);
}
inline cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* data, cudaStream_t) { return cudaFree(data); }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                   cudaStream_t = nullptr) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t = nullptr) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
