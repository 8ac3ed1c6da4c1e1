// CUDA's driver: initialization, devices, contexts.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

#include "cuda/runtime/driver.h"
#include "cuda/runtime/error_tables.h"
#include "cuda/runtime/memory.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

std::atomic<bool> initialized = false;
thread_local std::vector<CUcontext> stack;

CUcontext primary_of(int device) {
  static std::mutex mutex;
  static auto* const kAll = new std::map<int, CUctx_st*>();
  const std::scoped_lock lock(mutex);
  CUctx_st*& found = (*kAll)[device];
  if (found == nullptr) found = new CUctx_st{device, true};
  return found;
}

const ErrorText* text_of(CUresult error) {
  for (const ErrorText& one : kDriverErrors)
    if (one.number == error) return &one;
  return nullptr;
}

void make_current(CUcontext context) {
  if (context != nullptr) set_current_device(context->device);
}

}  // namespace

bool driver_is_initialized() {
  return initialized || uses_device_on_this_thread();
}

// The primary one of the runtime's device, once the runtime has been used on this thread.
CUcontext current_context() {
  if (!stack.empty()) return stack.back();
  return uses_device_on_this_thread() ? primary_of(current_device()) : nullptr;
}

CUresult result_of(int error) {
  switch (error) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidChannelDescriptor:
      return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol:
      return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDeviceFunction:
      return CUDA_ERROR_INVALID_HANDLE;
    default:
      return static_cast<CUresult>(error);
  }
}

void* exported(const char* name, int version) {
  static void* const kSelf = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&driver_is_initialized), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  if (kSelf == nullptr) return nullptr;
  // The others have had their second form for longer than torchport's oldest release of CUDA.
  if (version < 12050 && std::strcmp(name, "cuStreamGetCtx") == 0) return dlsym(kSelf, name);
  for (const char* form : {"_v3", "_v2", ""})
    if (void* found = dlsym(kSelf, fmt::format("{}{}", name, form).c_str())) return found;
  return nullptr;
}

}  // namespace torchport::cuda

CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (count_of_devices() == 0) return CUDA_ERROR_NO_DEVICE;
  initialized = true;
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  const ErrorText* found = text_of(error);
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  const ErrorText* found = text_of(error);
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = exported(symbol, version);
  if (status != nullptr)
    *status =
        *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, status);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                             unsigned int version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  if (name == nullptr || function == nullptr) return told(cudaErrorInvalidValue);
  *function = exported(name, static_cast<int>(version));
  const bool found = *function != nullptr;
  if (status != nullptr)
    *status = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return told(found || status != nullptr ? cudaSuccess : cudaErrorSymbolNotFound);
}

// ---- devices ----

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return without_context([&]() -> int {
    if (device == nullptr) return cudaErrorInvalidValue;
    if (!is_device(ordinal)) return cudaErrorInvalidDevice;
    *device = ordinal;
    return 0;
  });
}
CUresult cuDeviceGetCount(int* count) {
  return without_context([&] { return cudaGetDeviceCount(count); });
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return without_context([&]() -> int {
    if (name == nullptr || length < 1) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    const auto text = device_state(device).profile->device_name;
    const auto size = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, text.data(), size);
    name[size] = '\0';
    return 0;
  });
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return without_context([&]() -> int {
    cudaDeviceProp p;
    if (uuid == nullptr) return cudaErrorInvalidValue;
    if (const int error = cudaGetDeviceProperties(&p, device)) return error;
    *uuid = p.uuid;
    return 0;
  });
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return without_context([&]() -> int {
    if (bytes == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *bytes = memory_of(device).total();
    return 0;
  });
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return without_context([&]() -> int {
    // Virtual memory and its handles: refused (refused.h).
    if (value != nullptr && is_device(device) &&
        (which == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
         which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED ||
         which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED ||
         which == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED)) {
      *value = 0;
      return 0;
    }
    return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(which), device);
  });
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return without_context([&]() -> int {
    if (major == nullptr || minor == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *major = device_state(device).profile->major;
    *minor = device_state(device).profile->minor;
    return 0;
  });
}
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return without_context([&] { return cudaDeviceGetPCIBusId(id, length, device); });
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return without_context([&] { return cudaDeviceGetByPCIBusId(device, id); });
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return without_context([&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return without_context([&]() -> int {
    if (context == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *context = primary_of(device);
    device_state(device).active = true;
    return 0;
  });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return without_context(
      [&]() -> int { return is_device(device) ? 0 : static_cast<int>(cudaErrorInvalidDevice); });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return without_context([&]() -> int {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    const int before = current_device();
    set_current_device(device);
    cudaDeviceReset();
    return set_current_device(before);
  });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return without_context([&]() -> int {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    device_state(device).flags = flags | cudaDeviceMapHost;
    return 0;
  });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return without_context([&]() -> int {
    if (flags == nullptr || active == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *flags = device_state(device).flags & ~static_cast<unsigned>(cudaDeviceMapHost);
    *active = device_state(device).active ? 1 : 0;
    return 0;
  });
}

// ---- contexts ----

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int, CUdevice device) {
  return without_context([&]() -> int {
    if (context == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *context = new CUctx_st{device, false};
    device_state(device).active = true;
    stack.push_back(*context);
    make_current(*context);
    return 0;
  });
}
CUresult cuCtxDestroy(CUcontext context) {
  return without_context([&]() -> int {
    if (context == nullptr) return cudaErrorInvalidValue;
    std::erase(stack, context);
    if (!context->is_primary) delete context;
    return 0;
  });
}
CUresult cuCtxPushCurrent(CUcontext context) {
  return without_context([&]() -> int {
    if (context == nullptr) return cudaErrorInvalidValue;
    stack.push_back(context);
    make_current(context);
    return 0;
  });
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  return in_context([&]() -> int {
    if (context != nullptr) *context = current_context();
    if (!stack.empty()) stack.pop_back();
    make_current(stack.empty() ? nullptr : stack.back());
    return 0;
  });
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return without_context([&]() -> int {
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    make_current(context);
    return 0;
  });
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return without_context([&]() -> int {
    if (context == nullptr) return cudaErrorInvalidValue;
    *context = current_context();
    return 0;
  });
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return in_context([&]() -> int {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = current_context()->device;
    return 0;
  });
}
CUresult cuCtxGetFlags(unsigned int* flags) {
  return in_context([&] { return cudaGetDeviceFlags(flags); });
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned int* version) {
  return without_context([&]() -> int {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = CUDA_VERSION;
    return 0;
  });
}
CUresult cuCtxSynchronize() {
  return in_context([] { return cudaDeviceSynchronize(); });
}
CUresult cuCtxSetLimit(CUlimit which, size_t value) {
  return in_context([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(which), value); });
}
CUresult cuCtxGetLimit(size_t* value, CUlimit which) {
  return in_context([&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(which)); });
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return in_context([&] { return cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)); });
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return in_context([&]() -> int {
    return peer == nullptr ? cudaErrorInvalidValue
                           : cudaDeviceEnablePeerAccess(peer->device, flags);
  });
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return in_context([&]() -> int {
    return peer == nullptr ? cudaErrorInvalidValue : cudaDeviceDisablePeerAccess(peer->device);
  });
}
CUresult cuProfilerStart() {
  return CUDA_SUCCESS;
}
CUresult cuProfilerStop() {
  return CUDA_SUCCESS;
}
