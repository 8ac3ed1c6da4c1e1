#include "cuda/runtime/streams.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "cuda/runtime/state.h"
#include "runtime/device/cuda_devices.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

struct Handles {
  std::mutex mutex;
  std::set<const void*> streams;
  std::set<const void*> events;
  std::map<std::pair<int, std::int64_t>, CUstream_st*> of_outside;
  unsigned long long last_id = 6;  // a context has streams of its own
};
Handles& handles() {
  static auto* const kHandles = new Handles();
  return *kHandles;
}

CUstream_st* default_stream(int device) {
  static std::mutex mutex;
  static auto* const kAll = new std::map<int, CUstream_st*>();
  const std::scoped_lock lock(mutex);
  CUstream_st*& found = (*kAll)[device];
  if (found == nullptr) {
    found = new CUstream_st();
    found->device = device;
    found->id = 7;
  }
  return found;
}

constexpr int kGreatestPriority = -5;

}  // namespace

bool is_stream(cudaStream_t stream) {
  const std::scoped_lock lock(handles().mutex);
  return handles().streams.count(stream) != 0;
}

bool is_event(cudaEvent_t event) {
  const std::scoped_lock lock(handles().mutex);
  return handles().events.count(event) != 0;
}

CUstream_st* stream_of(cudaStream_t stream) {
  if (is_default(stream))
    return count_of_devices() == 0 ? nullptr : default_stream(current_device());
  // The number that torch.cuda.Stream.cuda_stream is: less than any address.
  constexpr std::uintptr_t kNumbers = 4096;
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  if (number < kNumbers && devices_outside() != nullptr)
    return torchport_cuda_stream_of(current_device(), static_cast<std::int64_t>(number), 0);
  return is_stream(stream) ? stream : nullptr;
}

}  // namespace torchport::cuda

CUstream_st* torchport_cuda_stream_of(int device, std::int64_t id, int priority) {
  if (id == 0) return nullptr;
  const std::scoped_lock lock(handles().mutex);
  CUstream_st*& found = handles().of_outside[{device, id}];
  if (found == nullptr) {
    found = new CUstream_st();
    found->device = device;
    found->flags = cudaStreamNonBlocking;
    found->priority = priority;
    found->id = ++handles().last_id;
    handles().streams.insert(found);
  }
  return found;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  auto* made = new CUstream_st();
  made->device = current_device();
  made->flags = flags;
  made->priority = std::clamp(priority, kGreatestPriority, 0);
  const std::scoped_lock lock(handles().mutex);
  made->id = ++handles().last_id;
  handles().streams.insert(made);
  *stream = made;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (is_default(stream) || !is_stream(stream)) return told(cudaErrorInvalidResourceHandle);
  if (const int error = wait_for_device()) return told(error);
  if (stream->capture) {
    cudaGraph_t graph = nullptr;
    invalidate(stream);
    cudaStreamEndCapture(stream, &graph);
  }
  {
    const std::scoped_lock lock(handles().mutex);
    handles().streams.erase(stream);
  }
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream_of(stream) == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (const int error = wait_in_capture(stream, false)) return told(error);
  return told(wait_for_device());
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (flags == nullptr) return told(cudaErrorInvalidValue);
  *flags = found->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (priority == nullptr) return told(cudaErrorInvalidValue);
  *priority = found->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (id == nullptr) return told(cudaErrorInvalidValue);
  *id = found->id;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (device == nullptr) return told(cudaErrorInvalidValue);
  *device = found->device;
  return cudaSuccess;
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID which,
                                   cudaLaunchAttributeValue* value) {
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (value == nullptr) return told(cudaErrorInvalidValue);
  *value = {};
  if (which == cudaLaunchAttributePriority) value->priority = found->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID which,
                                   const cudaLaunchAttributeValue* value) {
  CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (value == nullptr) return told(cudaErrorInvalidValue);
  if (which == cudaLaunchAttributePriority)
    found->priority = std::clamp(value->priority, kGreatestPriority, 0);
  return cudaSuccess;
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  if (stream_of(to) == nullptr || stream_of(from) == nullptr)
    return told(cudaErrorInvalidResourceHandle);
  stream_of(to)->priority = stream_of(from)->priority;
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return told(use_device());
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return told(cudaErrorInvalidValue);
  return told(submit(stream, {cudaGraphNodeTypeHost, [function, data] {
                                function(data);
                                return 0;
                              }}));
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) return told(cudaErrorInvalidValue);
  bool captured = false;
  if (const int error = begin_work(stream, captured)) return told(error);
  if (captured) {
    invalidate(stream);
    return told(cudaErrorStreamCaptureUnsupported);
  }
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned int) {
  return told(stream_of(stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  constexpr unsigned kAll = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (event == nullptr || (flags & ~kAll) != 0) return told(cudaErrorInvalidValue);
  if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)
    return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  auto* made = new CUevent_st();
  made->flags = flags;
  made->device = current_device();
  const std::scoped_lock lock(handles().mutex);
  handles().events.insert(made);
  *event = made;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!is_event(event)) return told(cudaErrorInvalidResourceHandle);
  {
    const std::scoped_lock lock(handles().mutex);
    handles().events.erase(event);
  }
  delete event;
  return told(use_device());
}
