// The calls of kernels: `<<<...>>>`, cudaLaunchKernel and its kin.
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"
#include "cuda/runtime/limits.h"
#include "cuda/runtime/state.h"

namespace torchport::cuda {

namespace {

// What the next call of a kernel on this thread of the host does.
struct NextCall {
  Sizes sizes;
  void** arguments = nullptr;
  const void* identity = nullptr;
  bool asks = false;  // for the identity only
};
thread_local NextCall next_call;

// Room for the arguments in memory of a function that is called without them.
struct Room {
  char bytes[8192];
};

std::mutex settings_mutex;
std::map<const void*, KernelSettings> all_settings;

// The error of a grid that no device runs, as cudaLaunchKernel checks it.
int check_sizes(const Sizes& sizes) {
  const ::dim3& grid = sizes.grid;
  const ::dim3& block = sizes.block;
  const bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMostGridX &&
                         grid.y <= kMostGridYZ && grid.z <= kMostGridYZ;
  const bool block_fits = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= kMostBlockXY &&
                          block.y <= kMostBlockXY && block.z <= kMostBlockZ &&
                          block.x * block.y * block.z <= kMostThreads;
  return grid_fits && block_fits ? 0 : kInvalidConfiguration;
}

}  // namespace

KernelSettings settings_of(const void* identity) {
  const std::scoped_lock lock(settings_mutex);
  const auto found = all_settings.find(identity);
  return found == all_settings.end() ? KernelSettings() : found->second;
}

void set_settings(const void* identity, const KernelSettings& settings) {
  const std::scoped_lock lock(settings_mutex);
  all_settings[identity] = settings;
}

bool configure(::dim3 grid, ::dim3 block, std::size_t shared, CUstream_st* stream) {
  if (Block* inside = Block::current())
    inside->fail(kLaunchFailure,
                 "a kernel starts a kernel; virtual devices have no dynamic parallelism");
  const Sizes sizes{grid, block, shared, stream, false};
  next_call = {};
  if (const int error = device_status()) {
    noted(error);
    return false;
  }
  if (const int error = check_sizes(sizes)) {
    noted(error);
    return false;
  }
  next_call.sizes = sizes;
  return true;
}

void** waiting_arguments() {
  return std::exchange(next_call.arguments, nullptr);
}

void run_grid(const Kernel& kernel, const void* body) {
  NextCall call = std::exchange(next_call, {});
  const auto* identity = reinterpret_cast<const void*>(kernel.threads);
  if (call.asks) {
    next_call.identity = identity;
    return;
  }
  if (call.sizes.shared > settings_of(identity).most_dynamic_shared) {
    noted(kInvalidValue);
    return;
  }
  Launch launch;
  launch.kernel = kernel;
  launch.body = body;
  launch.sizes = call.sizes;
  run_blocks(launch);
  if (launch.failed) set_device_error(launch.error, kernel.name, launch.text);
}

const void* identity_of(const void* function) {
  next_call = {};
  next_call.asks = true;
  reinterpret_cast<void (*)(Room)>(const_cast<void*>(function))({});
  return std::exchange(next_call, {}).identity;
}

int call_with(const void* function, const Sizes& sizes, void** arguments) {
  if (!configure(sizes.grid, sizes.block, sizes.shared, sizes.stream)) return last_error(false);
  next_call.sizes = sizes;
  const int before = last_error(true);
  static void* none = nullptr;
  next_call.arguments = arguments == nullptr ? &none : arguments;
  reinterpret_cast<void (*)(Room)>(const_cast<void*>(function))({});
  next_call = {};
  const int error = last_error(false);
  if (error == 0 && before != 0) noted(before);
  return error;
}

}  // namespace torchport::cuda
