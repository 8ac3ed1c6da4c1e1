// CUDA's driver: memory, copies, streams, events.
#include "cuda/runtime/copies.h"
#include "cuda/runtime/driver.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/streams.h"

using namespace torchport::cuda;

CUresult cuMemGetInfo(size_t* left, size_t* total) {
  return in_context([&] { return cudaMemGetInfo(left, total); });
}
CUresult cuMemAlloc(CUdeviceptr* data, size_t bytes) {
  return in_context([&]() -> int {
    if (bytes == 0) return cudaErrorInvalidValue;
    return cudaMalloc(reinterpret_cast<void**>(data), bytes);
  });
}
CUresult cuMemAllocPitch(CUdeviceptr* data, size_t* pitch, size_t width, size_t height,
                         unsigned int) {
  return in_context(
      [&] { return cudaMallocPitch(reinterpret_cast<void**>(data), pitch, width, height); });
}
CUresult cuMemAllocManaged(CUdeviceptr* data, size_t bytes, unsigned int flags) {
  return in_context(
      [&] { return cudaMallocManaged(reinterpret_cast<void**>(data), bytes, flags); });
}
CUresult cuMemAllocHost(void** data, size_t bytes) {
  return in_context([&] { return cudaMallocHost(data, bytes); });
}
CUresult cuMemHostAlloc(void** data, size_t bytes, unsigned int flags) {
  return in_context([&] { return cudaHostAlloc(data, bytes, flags); });
}
CUresult cuMemAllocAsync(CUdeviceptr* data, size_t bytes, CUstream stream) {
  return in_context([&] { return cudaMallocAsync(reinterpret_cast<void**>(data), bytes, stream); });
}
CUresult cuMemFree(CUdeviceptr data) {
  return in_context([&] { return cudaFree(pointer(data)); });
}
CUresult cuMemFreeHost(void* data) {
  return in_context([&] { return cudaFreeHost(data); });
}
CUresult cuMemFreeAsync(CUdeviceptr data, CUstream stream) {
  return in_context([&] { return cudaFreeAsync(pointer(data), stream); });
}
CUresult cuMemHostRegister(void* data, size_t bytes, unsigned int flags) {
  return in_context([&] { return cudaHostRegister(data, bytes, flags); });
}
CUresult cuMemHostUnregister(void* data) {
  return in_context([&] { return cudaHostUnregister(data); });
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned int flags) {
  return in_context(
      [&] { return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags); });
}
CUresult cuMemHostGetFlags(unsigned int* flags, void* host) {
  return in_context([&] { return cudaHostGetFlags(flags, host); });
}
CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr data) {
  return in_context([&]() -> int {
    const auto range = range_of(pointer(data));
    if (!range) return cudaErrorInvalidValue;
    if (begin != nullptr) *begin = reinterpret_cast<CUdeviceptr>(range->begin);
    if (bytes != nullptr) *bytes = range->bytes;
    return 0;
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr data) {
  return without_context([&]() -> int {
    cudaPointerAttributes known{};
    if (value == nullptr) return cudaErrorInvalidValue;
    if (const int error = cudaPointerGetAttributes(&known, pointer(data))) return error;
    if (known.type == cudaMemoryTypeUnregistered) return cudaErrorInvalidValue;
    const auto range = range_of(pointer(data));
    switch (which) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        return cuDevicePrimaryCtxRetain(static_cast<CUcontext*>(value), known.device);
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(value) =
            known.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return 0;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(value) = data;
        return 0;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (known.hostPointer == nullptr) return cudaErrorInvalidValue;
        *static_cast<void**>(value) = known.hostPointer;
        return 0;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned*>(value) = known.type == cudaMemoryTypeManaged ? 1 : 0;
        return 0;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(value) = known.device;
        return 0;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        if (!range) return cudaErrorInvalidValue;
        *static_cast<CUdeviceptr*>(value) = reinterpret_cast<CUdeviceptr>(range->begin);
        return 0;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        if (!range) return cudaErrorInvalidValue;
        *static_cast<size_t*>(value) = range->bytes;
        return 0;
      default:
        return cudaErrorNotSupported;
    }
  });
}
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* which, void** values,
                                CUdeviceptr data) {
  for (unsigned i = 0; i < count; ++i) cuPointerGetAttribute(values[i], which[i], data);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return in_context(
      [&] { return cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDefault); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return in_context([&] {
    return cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream);
  });
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return in_context([&] { return cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice); });
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return in_context([&] { return cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost); });
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return in_context(
      [&] { return cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice); });
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return in_context(
      [&] { return cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return in_context(
      [&] { return cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return in_context([&] {
    return cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream);
  });
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return cuMemcpyDtoD(to, from, bytes);
}

namespace {

int copied_2d(const CUDA_MEMCPY2D* p, CUstream stream, bool waits) {
  if (p == nullptr || p->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
      p->dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return cudaErrorInvalidValue;
  const char* from = p->srcMemoryType == CU_MEMORYTYPE_HOST
                         ? static_cast<const char*>(p->srcHost)
                         : static_cast<const char*>(pointer(p->srcDevice));
  char* to = static_cast<char*>(p->dstMemoryType == CU_MEMORYTYPE_HOST ? p->dstHost
                                                                       : pointer(p->dstDevice));
  from += p->srcY * p->srcPitch + p->srcXInBytes;
  to += p->dstY * p->dstPitch + p->dstXInBytes;
  if (waits)
    return cudaMemcpy2D(to, p->dstPitch, from, p->srcPitch, p->WidthInBytes, p->Height,
                        cudaMemcpyDefault);
  return cudaMemcpy2DAsync(to, p->dstPitch, from, p->srcPitch, p->WidthInBytes, p->Height,
                           cudaMemcpyDefault, stream);
}

CUresult set(CUdeviceptr to, unsigned value, unsigned element, size_t count, CUstream stream,
             bool waits) {
  return in_context([&] {
    return set_rows(pointer(to), count * element, value, element, count, 1, stream, waits);
  });
}

}  // namespace

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* p) {
  return in_context([&] { return copied_2d(p, nullptr, true); });
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* p, CUstream stream) {
  return in_context([&] { return copied_2d(p, stream, false); });
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return set(to, value, 1, count, nullptr, true);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return set(to, value, 2, count, nullptr, true);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count) {
  return set(to, value, 4, count, nullptr, true);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return set(to, value, 1, count, stream, false);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return set(to, value, 2, count, stream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return set(to, value, 4, count, stream, false);
}

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return in_context([&] { return cudaStreamCreateWithFlags(stream, flags); });
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return in_context([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}
CUresult cuStreamDestroy(CUstream stream) {
  return in_context([&] { return cudaStreamDestroy(stream); });
}
CUresult cuStreamSynchronize(CUstream stream) {
  return in_context([&] { return cudaStreamSynchronize(stream); });
}
CUresult cuStreamQuery(CUstream stream) {
  return in_context([&] { return cudaStreamQuery(stream); });
}
CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return in_context([&] { return cudaStreamGetFlags(stream, flags); });
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return in_context([&] { return cudaStreamGetPriority(stream, priority); });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return cuDevicePrimaryCtxRetain(context, found->device);
}
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  const CUresult status = cuStreamGetCtx(stream, context);
  if (status == CUDA_SUCCESS && green != nullptr) *green = nullptr;
  return status;
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = found->device;
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return in_context([&] { return cudaStreamWaitEvent(stream, event, flags); });
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                             unsigned int flags) {
  return in_context([&] {
    return cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), data,
                                 flags);
  });
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return in_context([&] {
    return cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status));
  });
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return in_context(
      [&] { return cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)); });
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return in_context([&] {
    return cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode));
  });
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return in_context([&] { return cudaStreamGetId(stream, id); });
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return in_context([&] { return cudaStreamEndCapture(stream, graph); });
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr data, cuuint32_t value, unsigned int) {
  return set(data, value, 4, 1, stream, false);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return in_context([&] { return cudaLaunchHostFunc(stream, function, data); });
}
CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return in_context([&] { return cudaEventCreateWithFlags(event, flags); });
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return in_context([&] { return cudaEventRecord(event, stream); });
}
CUresult cuEventQuery(CUevent event) {
  return in_context([&] { return cudaEventQuery(event); });
}
CUresult cuEventSynchronize(CUevent event) {
  return in_context([&] { return cudaEventSynchronize(event); });
}
CUresult cuEventDestroy(CUevent event) {
  return in_context([&] { return cudaEventDestroy(event); });
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return in_context([&] { return cudaEventElapsedTime(milliseconds, start, end); });
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return in_context([&] { return cudaGraphLaunch(exec, stream); });
}
CUresult cuGraphDestroy(CUgraph graph) {
  return in_context([&] { return cudaGraphDestroy(graph); });
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return in_context([&] { return cudaGraphExecDestroy(exec); });
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return in_context([&] { return cudaGraphInstantiateWithFlags(exec, graph, flags); });
}
