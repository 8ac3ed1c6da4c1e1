// The calls of kernels: `<<<...>>>`, cudaLaunchKernel and its kin.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <link.h>

#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"
#include "cuda/runtime/functions.h"
#include "cuda/runtime/limits.h"
#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"
#include "cuda/runtime/without_values.h"
#include "runtime/device/cuda_devices.h"

extern "C" {
__attribute__((visibility("default"))) extern const char torchport_cuda_packed = 0;
}

namespace torchport::cuda {

namespace {

// What the next call of a kernel on this thread of the host does.
struct NextCall {
  Sizes sizes;
  void** arguments = nullptr;
  bool has_cluster = false;
  ::dim3 cluster{0, 0, 0};
  bool asks = false;           // for the kernel only
  NodeWork* record = nullptr;  // the call becomes this work
  Kernel kernel{};
};
thread_local NextCall next_call;

// Memory for the arguments of a function that is called without them: those in memory, and what
// those point to that are passed by address. The kernel's code loads the values over them.
constexpr std::size_t kRegistersForArguments = 6;
constexpr std::size_t kSlots = 1024;
constexpr std::size_t kScratch = 64;
constexpr std::size_t kScratchBytes = 4096;
struct Room {
  void* slots[kSlots];
};

void call_without_arguments(const void* function) {
  thread_local std::unique_ptr<char[]> scratch(new char[kScratch * kScratchBytes]);
  const auto at = [&](std::size_t i) -> void* {
    return scratch.get() + i % kScratch * kScratchBytes;
  };
  Room room;
  for (std::size_t i = 0; i < kSlots; ++i) room.slots[i] = at(kRegistersForArguments + i);
  using Function = void (*)(void*, void*, void*, void*, void*, void*, Room);
  reinterpret_cast<Function>(const_cast<void*>(function))(at(0), at(1), at(2), at(3), at(4), at(5),
                                                          room);
}

// Whether an address is one of code that was loaded.
bool is_code(const void* address) {
  struct Search {
    std::uintptr_t address;
    bool found;
  } search{reinterpret_cast<std::uintptr_t>(address), false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && wanted.address >= begin &&
              wanted.address < begin + part.p_memsz)
            wanted.found = true;
        }
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

std::size_t count_of(const ::dim3& size) {
  return std::size_t{size.x} * size.y * size.z;
}

int check_cluster(const Kernel& kernel, const ::dim3& grid, const ::dim3* given) {
  const ::dim3& own = kernel.bounds.cluster;
  if (given == nullptr && own.x == 0) return 0;
  const ::dim3& cluster = given == nullptr ? own : *given;
  const std::size_t size = count_of(cluster);
  const std::size_t most = settings_of(kernel).large_clusters ? 16 : 8;
  if (size == 0 || size > most || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 ||
      grid.z % cluster.z != 0)
    return cudaErrorInvalidClusterSize;
  return 0;
}

// The grid is done at the end, or abandoned; its error is the device's.
int launch(const Kernel& kernel, const void* body, const Sizes& sizes) {
  if (leaves_out(kernel.name, body, kernel.size)) return 0;
  Launch launched;
  launched.kernel = kernel;
  launched.body = body;
  launched.sizes = sizes;
  run_blocks(launched);
  if (launched.error != 0 || !launched.text.empty())
    set_device_error(current_device(), launched.error, kernel.name, launched.text);
  return 0;
}

}  // namespace

int check_launch(const Kernel& kernel, Sizes& sizes, const ::dim3* cluster) {
  const ::dim3& grid = sizes.grid;
  const ::dim3& block = sizes.block;
  const bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMostGridX &&
                         grid.y <= kMostGridYZ && grid.z <= kMostGridYZ;
  const bool block_fits = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= kMostBlockXY &&
                          block.y <= kMostBlockXY && block.z <= kMostBlockZ &&
                          count_of(block) <= kMostThreads;
  if (!grid_fits || !block_fits) return cudaErrorInvalidValue;
  if (kernel.bounds.threads != 0 && count_of(block) > kernel.bounds.threads)
    return cudaErrorInvalidValue;
  sizes.shared &= 0xffffffffU;  // as CUDA's runtime hands it to the driver
  if (sizes.shared > most_dynamic_shared(kernel)) return cudaErrorInvalidValue;
  if (const int error = check_cluster(kernel, grid, cluster)) return error;
  if (!sizes.cooperative) return 0;
  const auto blocks = static_cast<std::size_t>(
      blocks_at_once(kernel, static_cast<int>(count_of(block)), sizes.shared));
  const std::size_t at_once =
      blocks * static_cast<std::size_t>(current_state().profile->multiprocessors);
  return count_of(grid) > at_once ? cudaErrorCooperativeLaunchTooLarge : 0;
}

int find_kernel(const void* function, Kernel& kernel) {
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  if (!is_code(function)) return cudaErrorInvalidResourceHandle;
  next_call = {};
  next_call.asks = true;
  call_without_arguments(function);
  kernel = std::exchange(next_call, {}).kernel;
  return kernel.threads == nullptr ? cudaErrorInvalidDeviceFunction : 0;
}

bool configure(::dim3 grid, ::dim3 block, std::size_t shared, CUstream_st* stream) {
  if (Block* inside = Block::current())
    inside->fail(kLaunchFailure,
                 "a kernel starts a kernel; virtual devices have no dynamic parallelism");
  next_call = {};
  next_call.sizes = {grid, block, shared, stream, false};
  if (const int error = use_device()) {
    noted(error);
    return false;
  }
  return true;
}

void** waiting_arguments() {
  return std::exchange(next_call.arguments, nullptr);
}

void run_grid(const Kernel& kernel, const void* body) {
  NextCall call = std::exchange(next_call, {});
  if (call.asks) {
    next_call.kernel = kernel;
    return;
  }
  const cudaStream_t stream = call.sizes.stream;
  bool captured = false;
  int error = check_launch(kernel, call.sizes, call.has_cluster ? &call.cluster : nullptr);
  if (error != 0) invalidate(stream);
  if (error == 0) error = begin_work(stream, captured);
  if (error != 0) {
    noted(error);
    return;
  }
  if (!captured && call.record == nullptr) {
    if (const Devices* outside = devices_outside();
        outside != nullptr && outside->version >= 2 && outside->captures()) {
      if (leaves_out(kernel.name, body, kernel.size)) return;
      // A replay would not run it, and its results would be those of the capture.
      fmt::print(stderr,
                 "torchport: the kernel {} is launched while torch.cuda.graph captures; virtual "
                 "devices replay PyTorch's operators and Triton's kernels only. Run this part "
                 "without a graph.\n",
                 kernel.name);
      noted(cudaErrorStreamCaptureUnsupported);
      return;
    }
    launch(kernel, body, call.sizes);
    return;
  }
  // The arguments are kept for each launch of the graph.
  constexpr std::size_t kAlignment = 64;
  void* copy =
      std::aligned_alloc(kAlignment, (kernel.size + kAlignment - 1) / kAlignment * kAlignment);
  if (copy == nullptr) {
    noted(cudaErrorMemoryAllocation);
    return;
  }
  kernel.copy(copy, body);
  const std::shared_ptr<void> kept(copy, [destroy = kernel.destroy](void* data) {
    destroy(data);
    std::free(data);
  });
  NodeWork work;
  work.type = cudaGraphNodeTypeKernel;
  work.run = [kernel, kept, sizes = call.sizes] { return launch(kernel, kept.get(), sizes); };
  work.kernel.func = reinterpret_cast<void*>(kernel.threads);
  work.kernel.gridDim = call.sizes.grid;
  work.kernel.blockDim = call.sizes.block;
  work.kernel.sharedMemBytes = static_cast<unsigned>(call.sizes.shared);
  if (call.record != nullptr)
    *call.record = std::move(work);
  else
    noted(add_to_capture(stream, std::move(work)));
}

namespace {

int call_by_address(const void* function, const Sizes& sizes, void** arguments,
                    const ::dim3* cluster, NodeWork* record) {
  if (const int error = use_device()) return error;
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  if (!is_code(function)) return cudaErrorInvalidResourceHandle;
  const int before = last_error(true);
  next_call = {};
  next_call.sizes = sizes;
  next_call.record = record;
  if (cluster != nullptr) {
    next_call.has_cluster = true;
    next_call.cluster = *cluster;
  }
  static void* none = nullptr;
  next_call.arguments = arguments == nullptr ? &none : arguments;
  call_without_arguments(function);
  next_call = {};
  const int error = last_error(true);
  if (before != 0) noted(before);
  return error;
}

}  // namespace

int call_with(const void* function, const Sizes& sizes, void** arguments, const ::dim3* cluster) {
  return call_by_address(function, sizes, arguments, cluster, nullptr);
}

int record_call(const cudaKernelNodeParams& p, NodeWork& work) {
  const Sizes sizes{p.gridDim, p.blockDim, p.sharedMemBytes, nullptr, false};
  if (p.func == nullptr || p.kernelParams == nullptr) return cudaErrorInvalidValue;
  return call_by_address(p.func, sizes, p.kernelParams, nullptr, &work);
}

}  // namespace torchport::cuda

using namespace torchport::cuda;

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return told(call_with(function, {grid, block, shared, stream, false}, arguments));
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t shared, cudaStream_t stream) {
  return told(call_with(function, {grid, block, shared, stream, true}, arguments));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
    return told(cudaErrorInvalidValue);
  Sizes sizes{config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false};
  ::dim3 cluster;
  bool has_cluster = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& one = config->attrs[i];
    if (one.id == cudaLaunchAttributeCooperative) sizes.cooperative = one.val.cooperative != 0;
    if (one.id != cudaLaunchAttributeClusterDimension) continue;
    has_cluster = true;
    cluster = {one.val.clusterDim.x, one.val.clusterDim.y, one.val.clusterDim.z};
  }
  return told(
      call_by_address(function, sizes, arguments, has_cluster ? &cluster : nullptr, nullptr));
}
