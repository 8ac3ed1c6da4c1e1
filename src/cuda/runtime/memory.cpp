// cudaMalloc and its kin, and what is known of a pointer.
#include "cuda/runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "cuda/runtime/pools.h"
#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"
#include "runtime/device/cuda_devices.h"

using namespace torchport::cuda;

namespace {

constexpr size_t kPitchUnit = 512;

int allocated(void** data, size_t bytes) {
  if (data == nullptr) return cudaErrorInvalidValue;
  if (const int error = unsafe_in_capture()) return error;
  if (const int error = use_device()) return error;
  *data = nullptr;
  if (bytes == 0) return cudaSuccess;
  *data = allocate_on_device(current_device(), bytes);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

// Pages of the host, which a kernel may use, too.
int allocated_host(void** data, size_t bytes, Owner owner, unsigned flags) {
  if (data == nullptr) return cudaErrorInvalidValue;
  if (const int error = unsafe_in_capture()) return error;
  if (const int error = use_device()) return error;
  *data = nullptr;
  if (bytes == 0) return owner == Owner::kManaged ? cudaErrorInvalidValue : cudaSuccess;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t all = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page;
  if (bytes > all) return cudaErrorMemoryAllocation;
  void* found = mmap(nullptr, rounded_up(bytes, page), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return cudaErrorMemoryAllocation;
  Range range;
  range.begin = static_cast<char*>(found);
  range.bytes = bytes;
  range.owner = owner;
  range.device = current_device();
  range.flags = flags;
  add_range(range);
  *data = found;
  return cudaSuccess;
}

// Says the error, and notes the call that allocates if kernels are checked.
cudaError_t with_caller(int error, void* const* data, const void* code) {
  if (error == 0 && kernels_are_checked()) note_code(*data, code);
  return told(error);
}

void free_host(const Range& range) {
  munmap(range.begin, rounded_up(range.bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE))));
}

}  // namespace

namespace torchport::cuda {

bool is_device_memory(const void* address) {
  const auto range = range_of(address);
  if (range) return range->is_on_device() || range->owner == Owner::kManaged;
  const Devices* outside = devices_outside();
  return outside != nullptr && outside->device_of != nullptr && outside->device_of(address) >= 0;
}

}  // namespace torchport::cuda

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return with_caller(allocated(data, bytes), data, __builtin_return_address(0));
}

cudaError_t cudaFree(void* data) {
  if (const int error = unsafe_in_capture()) return told(error);
  if (const int error = wait_for_device()) return told(error);
  if (data == nullptr) return cudaSuccess;
  const auto range = take_range(data, {Owner::kDevice, Owner::kManaged, Owner::kPool});
  if (!range) return told(cudaErrorInvalidValue);
  switch (range->owner) {
    case Owner::kDevice:
      memory_of(range->device).free(data, range->bytes);
      break;
    case Owner::kPool:
      free_in_pool(*range);
      break;
    default:
      free_host(*range);
  }
  return cudaSuccess;
}

cudaError_t cudaMallocPitch(void** data, size_t* pitch, size_t width, size_t height) {
  if (data == nullptr || pitch == nullptr) return told(cudaErrorInvalidValue);
  *pitch = 0;
  if (width == 0 || height == 0) {
    *data = nullptr;
    return told(use_device());
  }
  const size_t step = rounded_up(width, kPitchUnit);
  const int error = allocated(data, step * height);
  if (error == 0) *pitch = step;
  return with_caller(error, data, __builtin_return_address(0));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* data, cudaExtent extent) {
  if (data == nullptr) return told(cudaErrorInvalidValue);
  *data = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&data->ptr, &data->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocHost(void** data, size_t bytes) {
  return with_caller(allocated_host(data, bytes, Owner::kPinned, cudaHostAllocMapped), data,
                     __builtin_return_address(0));
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned int flags) {
  constexpr unsigned kAll =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~kAll) != 0) return told(cudaErrorInvalidValue);
  return with_caller(allocated_host(data, bytes, Owner::kPinned, flags | cudaHostAllocMapped), data,
                     __builtin_return_address(0));
}

cudaError_t cudaMallocManaged(void** data, size_t bytes, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
    return told(cudaErrorInvalidValue);
  return with_caller(allocated_host(data, bytes, Owner::kManaged, flags), data,
                     __builtin_return_address(0));
}

cudaError_t cudaFreeHost(void* data) {
  if (const int error = unsafe_in_capture()) return told(error);
  if (const int error = wait_for_device()) return told(error);
  if (data == nullptr) return cudaSuccess;
  const auto range = take_range(data, {Owner::kPinned});
  if (!range) return told(cudaErrorInvalidValue);
  free_host(*range);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned int flags) {
  constexpr unsigned kAll = cudaHostRegisterPortable | cudaHostRegisterMapped |
                            cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  if (data == nullptr || bytes == 0 || (flags & ~kAll) != 0) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const auto range = range_of(data)) {
    const bool registered = range->owner == Owner::kRegistered || range->owner == Owner::kPinned;
    return told(registered ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue);
  }
  Range range;
  range.begin = static_cast<char*>(data);
  range.bytes = bytes;
  range.owner = Owner::kRegistered;
  range.device = current_device();
  range.flags = (flags & cudaHostRegisterPortable) | cudaHostRegisterMapped;
  add_range(range);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* data) {
  if (const int error = use_device()) return told(error);
  if (data == nullptr) return told(cudaErrorInvalidValue);
  return told(take_range(data, {Owner::kRegistered}) ? cudaSuccess
                                                     : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  if (flags == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  const auto range = range_of(host);
  if (!range || (range->owner != Owner::kPinned && range->owner != Owner::kRegistered))
    return told(cudaErrorInvalidValue);
  *flags = range->flags;
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  if (device == nullptr || flags != 0) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  const auto range = range_of(host);
  if (!range || (range->owner != Owner::kPinned && range->owner != Owner::kRegistered))
    return told(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  if (left == nullptr || total == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  memory_of(current_device()).info(*left, *total);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  if (attributes == nullptr) return told(cudaErrorInvalidValue);
  void* at = const_cast<void*>(data);
  *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, at, {}};
  const auto range = range_of(data);
  if (!range) {
    const Devices* outside = devices_outside();
    const int device =
        outside == nullptr || outside->device_of == nullptr ? -1 : outside->device_of(data);
    if (device >= 0) *attributes = {cudaMemoryTypeDevice, device, at, nullptr, {}};
    return cudaSuccess;
  }
  attributes->device = range->device;
  attributes->devicePointer = at;
  attributes->type = cudaMemoryTypeHost;
  if (range->owner == Owner::kManaged) attributes->type = cudaMemoryTypeManaged;
  if (range->is_on_device()) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->hostPointer = nullptr;
  }
  return cudaSuccess;
}

cudaError_t torchport_cuda_is_managed(const void* data, size_t) {
  if (const int error = use_device()) return told(error);
  const auto range = range_of(data);
  return told(range && range->owner == Owner::kManaged ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemRangeGetAttribute(void* value, size_t size, cudaMemRangeAttribute,
                                     const void* data, size_t bytes) {
  if (value == nullptr || size < sizeof(int)) return told(cudaErrorInvalidValue);
  *static_cast<int*>(value) = 0;
  return torchport_cuda_is_managed(data, bytes);
}
