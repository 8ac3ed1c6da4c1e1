// Streams, events, and the captures of graphs.
//
// Work is done when its call returns. So streams order nothing, and an event is over when it is
// recorded; what is kept are their identities, times, and which of them are captured.
//
// What a capture allows, and with which errors, is recorded of an H100 (program
// graphs_and_streams).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/runtime/graphs.h"
#include "driver_types.h"

namespace torchport::cuda {

struct Capture {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaStream_t origin = nullptr;
  bool blocking = true;  // the origin waits for the default stream
  bool valid = true;
  CUgraph_st* graph = nullptr;
  bool owns_graph = true;  // else it is the program's
  std::vector<cudaStream_t> streams;
};

}  // namespace torchport::cuda

struct CUstream_st {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  std::shared_ptr<torchport::cuda::Capture> capture{};
  std::vector<CUgraphNode_st*> last{};  // what the next work of a capture comes after
};

struct CUevent_st {
  unsigned flags = 0;
  int device = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time{};
  std::weak_ptr<torchport::cuda::Capture> capture{};
  bool captured = false;
  std::vector<CUgraphNode_st*> last{};
};

namespace torchport::cuda {

// The stream of a handle; that of the default stream for null, cudaStreamLegacy and
// cudaStreamPerThread. Null if there is none.
CUstream_st* stream_of(cudaStream_t stream);
inline bool is_default(cudaStream_t stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}
bool is_stream(cudaStream_t stream);
bool is_event(cudaEvent_t event);

// Does work on a stream at once, or adds it to the graph that is captured. `work` returns a
// cudaError_t. Returns the error of the call. Checks the device and the stream.
int submit(cudaStream_t stream, NodeWork work);
// The error that work on a stream has before it begins; 0, and whether it is captured.
int begin_work(cudaStream_t stream, bool& captured);
// Adds a node to the graph of a stream that is captured.
int add_to_capture(cudaStream_t stream, NodeWork work);
// A call on a stream that is captured was wrong.
void invalidate(cudaStream_t stream);

// The error of a call that waits for a stream, or for the device, while a graph is captured.
int wait_in_capture(cudaStream_t stream, bool device);
// Of one that a capture forbids, because it is not safe.
int unsafe_in_capture();
// Of one that uses the default stream.
int implicit_in_capture();

}  // namespace torchport::cuda
