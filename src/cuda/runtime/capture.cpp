// Captures: which streams belong to one, and what that forbids.
#include <algorithm>
#include <mutex>
#include <set>

#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

// Guards all of this file and the captures in streams and events.
std::recursive_mutex capture_mutex;
std::set<std::shared_ptr<Capture>>& captures() {
  static auto* const kAll = new std::set<std::shared_ptr<Capture>>();
  return *kAll;
}
std::atomic<int> underway = 0;
unsigned long long last_id = 0;
thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

void end(const std::shared_ptr<Capture>& capture) {
  for (cudaStream_t one : capture->streams) {
    one->capture.reset();
    one->last.clear();
  }
  captures().erase(capture);
  --underway;
}

}  // namespace

void invalidate(cudaStream_t stream) {
  if (underway == 0) return;
  const std::scoped_lock lock(capture_mutex);
  if (CUstream_st* found = stream_of(stream); found != nullptr && found->capture)
    found->capture->valid = false;
}

int unsafe_in_capture() {
  if (underway == 0) return 0;
  const std::scoped_lock lock(capture_mutex);
  int error = 0;
  for (const auto& one : captures()) {
    const bool mine = one->thread == std::this_thread::get_id();
    const bool forbids = one->mode == cudaStreamCaptureModeGlobal
                             ? mode_of_thread == cudaStreamCaptureModeGlobal ||
                                   (mine && mode_of_thread == cudaStreamCaptureModeThreadLocal)
                             : one->mode == cudaStreamCaptureModeThreadLocal && mine &&
                                   mode_of_thread != cudaStreamCaptureModeRelaxed;
    if (!forbids) continue;
    one->valid = false;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

int implicit_in_capture() {
  if (underway == 0) return 0;
  const std::scoped_lock lock(capture_mutex);
  int error = 0;
  for (const auto& one : captures()) {
    if (!one->blocking) continue;
    one->valid = false;
    error = cudaErrorStreamCaptureImplicit;
  }
  return error;
}

int wait_in_capture(cudaStream_t stream, bool device) {
  if (underway == 0) return 0;
  const std::scoped_lock lock(capture_mutex);
  if (device) {
    for (const auto& one : captures()) one->valid = false;
    return captures().empty() ? 0 : cudaErrorStreamCaptureUnsupported;
  }
  if (is_default(stream)) return implicit_in_capture();
  const CUstream_st* found = stream_of(stream);
  if (found == nullptr || !found->capture) return 0;
  found->capture->valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

int begin_work(cudaStream_t stream, bool& captured) {
  captured = false;
  CUstream_st* found = stream_of(stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (const int error = use_device()) return error;
  if (underway == 0) return 0;
  const std::scoped_lock lock(capture_mutex);
  if (is_default(stream)) return implicit_in_capture();
  if (!found->capture) return 0;
  captured = true;
  return found->capture->valid ? 0 : cudaErrorStreamCaptureInvalidated;
}

int add_to_capture(cudaStream_t stream, NodeWork work) {
  const std::scoped_lock lock(capture_mutex);
  CUstream_st* found = stream_of(stream);
  found->last = {found->capture->graph->add(std::move(work), found->last)};
  return 0;
}

int submit(cudaStream_t stream, NodeWork work) {
  bool captured = false;
  if (const int error = begin_work(stream, captured)) return error;
  if (captured) return add_to_capture(stream, std::move(work));
  return work.run ? work.run() : 0;
}

}  // namespace torchport::cuda

namespace {

// Into a graph of the program's, behind some of its nodes, or into a new one.
cudaError_t begin(cudaStream_t stream, cudaStreamCaptureMode mode, cudaGraph_t graph,
                  const std::vector<CUgraphNode_st*>& after) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
    return told(cudaErrorInvalidValue);
  if (is_default(stream) && stream != cudaStreamPerThread)
    return told(cudaErrorStreamCaptureUnsupported);
  CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (const int error = use_device()) return told(error);
  const std::scoped_lock lock(capture_mutex);
  if (found->capture) return told(cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>();
  capture->id = ++last_id;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = found;
  capture->blocking = (found->flags & cudaStreamNonBlocking) == 0;
  capture->owns_graph = graph == nullptr;
  capture->graph = graph == nullptr ? new CUgraph_st() : graph;
  capture->streams = {found};
  found->capture = capture;
  found->last = after;
  captures().insert(capture);
  ++underway;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin(stream, mode, nullptr, {});
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* after, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
  if (graph == nullptr || (after == nullptr && count > 0)) return told(cudaErrorInvalidValue);
  return begin(stream, mode, graph, std::vector<cudaGraphNode_t>(after, after + count));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph != nullptr) *graph = nullptr;
  CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  const std::scoped_lock lock(capture_mutex);
  const std::shared_ptr<Capture> capture = found->capture;
  if (!capture) return told(cudaErrorIllegalState);
  if (capture->origin != found) {
    capture->valid = false;
    return told(cudaErrorStreamCaptureUnmatched);
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    capture->valid = false;
    return told(cudaErrorStreamCaptureWrongThread);
  }
  int error = capture->valid ? 0 : cudaErrorStreamCaptureInvalidated;
  if (error == 0 && capture->owns_graph) {
    // All ends of the graph are to be where this stream is.
    std::set<const CUgraphNode_st*> inner;
    for (const auto& node : capture->graph->nodes)
      inner.insert(node->after.begin(), node->after.end());
    for (const auto& node : capture->graph->nodes) {
      const bool joined =
          inner.count(node.get()) != 0 ||
          std::find(found->last.begin(), found->last.end(), node.get()) != found->last.end();
      if (!joined) error = cudaErrorStreamCaptureUnjoined;
    }
  }
  end(capture);
  if (error == 0 && graph != nullptr)
    *graph = capture->graph;
  else if (capture->owns_graph)
    delete capture->graph;
  return told(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo_v3(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies,
                                        const cudaGraphEdgeData** edges, size_t* count) {
  if (status == nullptr) return told(cudaErrorInvalidValue);
  CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  *status = cudaStreamCaptureStatusNone;
  if (underway == 0) return cudaSuccess;
  const std::scoped_lock lock(capture_mutex);
  if (is_default(stream)) return told(implicit_in_capture());
  if (!found->capture) return cudaSuccess;
  *status =
      found->capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
  if (id != nullptr) *id = found->capture->id;
  if (graph != nullptr) *graph = found->capture->graph;
  if (dependencies != nullptr) *dependencies = found->last.data();
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = found->last.size();
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream,
                                                   cudaGraphNode_t* dependencies,
                                                   const cudaGraphEdgeData*, size_t count,
                                                   unsigned int flags) {
  CUstream_st* found = stream_of(stream);
  if (found == nullptr) return told(cudaErrorInvalidResourceHandle);
  const std::scoped_lock lock(capture_mutex);
  if (!found->capture) return told(cudaErrorIllegalState);
  if (flags == cudaStreamSetCaptureDependencies) found->last.clear();
  found->last.insert(found->last.end(), dependencies, dependencies + count);
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal ||
      *mode > cudaStreamCaptureModeRelaxed)
    return told(cudaErrorInvalidValue);
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  CUstream_st* found = stream_of(stream);
  if (found == nullptr || !is_event(event)) return told(cudaErrorInvalidResourceHandle);
  if (flags > cudaEventWaitExternal) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (underway == 0) return cudaSuccess;
  const std::scoped_lock lock(capture_mutex);
  const std::shared_ptr<Capture> from = event->capture.lock();
  if (!event->captured || !from || captures().count(from) == 0) {
    if (is_default(stream)) return told(implicit_in_capture());
    // Work before the capture cannot be waited for within it.
    if (!found->capture || !event->recorded || event->captured) return cudaSuccess;
    found->capture->valid = false;
    return told(cudaErrorStreamCaptureIsolation);
  }
  if (!found->capture) {
    if (is_default(stream)) return told(implicit_in_capture());
    found->capture = from;
    found->last.clear();
    from->streams.push_back(found);
  } else if (found->capture != from) {
    found->capture->valid = false;
    from->valid = false;
    return told(cudaErrorStreamCaptureMerge);
  }
  for (CUgraphNode_st* one : event->last)
    if (std::find(found->last.begin(), found->last.end(), one) == found->last.end())
      found->last.push_back(one);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  CUstream_st* found = stream_of(stream);
  if (found == nullptr || !is_event(event)) return told(cudaErrorInvalidResourceHandle);
  if (flags > cudaEventRecordExternal) return told(cudaErrorInvalidValue);
  bool captured = false;
  if (const int error = begin_work(stream, captured)) return told(error);
  const std::scoped_lock lock(capture_mutex);
  event->captured = captured;
  if (captured && flags == cudaEventRecordExternal) {
    return told(add_to_capture(stream, {cudaGraphNodeTypeEventRecord, [event] {
                                          event->recorded = true;
                                          event->captured = false;
                                          event->time = std::chrono::steady_clock::now();
                                          return 0;
                                        }}));
  }
  if (captured) {
    event->capture = found->capture;
    event->last = found->last;
    return cudaSuccess;
  }
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

namespace {

// Asks whether an event is over, in the time of a capture.
int event_in_capture(cudaEvent_t event) {
  if (underway == 0) return 0;
  const std::scoped_lock lock(capture_mutex);
  if (const auto from = event->capture.lock(); event->captured && from) {
    from->valid = false;
    return cudaErrorCapturedEvent;
  }
  return unsafe_in_capture();
}

}  // namespace

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (!is_event(event)) return told(cudaErrorInvalidResourceHandle);
  if (const int error = event_in_capture(event)) return told(error);
  return told(wait_for_device());
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return cudaEventQuery(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return told(cudaErrorInvalidValue);
  if (!is_event(start) || !is_event(end)) return told(cudaErrorInvalidResourceHandle);
  if (const int error = wait_for_device()) return told(error);
  for (const cudaEvent_t one : {start, end})
    if (!one->recorded || (one->flags & cudaEventDisableTiming) != 0)
      return told(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}
