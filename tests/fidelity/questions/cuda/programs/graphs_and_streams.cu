// Streams, events, captures and graphs: codes, types of nodes, what a capture forbids.
#include "told.h"

namespace {

__global__ void spins(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
}
__global__ void adds(int* p, int by) { *p += by; }
constexpr long long kLong = 400000000;  // about 0.2 s

void tell_call(const std::string& name, cudaError_t error) {
  cudaError_t peek = cudaPeekAtLastError(), first = cudaGetLastError();
  std::printf("%s: %s peek %s get %s\n", name.c_str(), cudaGetErrorName(error), cudaGetErrorName(peek), cudaGetErrorName(first));
}

void tell_status(const std::string& name, cudaStream_t s) {
  cudaStreamCaptureStatus status;
  cudaError_t error = cudaStreamIsCapturing(s, &status);
  std::printf("%s: %s %d\n", name.c_str(), cudaGetErrorName(error), error == cudaSuccess ? status : -1);
  cudaGetLastError();
}

void CUDART_CB called(void* data) { ++*static_cast<int*>(data); }

void tell_graph(const std::string& name, cudaGraph_t graph) {
  size_t nodes = 0, roots = 0, edges = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
  tell(name + " nodes, roots, edges", std::vector<size_t>{nodes, roots, edges});
  std::vector<cudaGraphNode_t> all(nodes);
  CHECK(cudaGraphGetNodes(graph, all.data(), &nodes));
  std::vector<int> types;
  for (auto node : all) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    types.push_back(type);
  }
  tell(name + " types", types);
}

// Each call that is told is the first thing wrong in a capture of its own.
template <class Call>
void tell_in_capture(const std::string& name, cudaStreamCaptureMode mode, Call call) {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamBeginCapture(s, mode));
  cudaError_t error = call(s);
  cudaError_t got = cudaGetLastError();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaError_t asked = cudaStreamIsCapturing(s, &status);
  cudaGraph_t graph = nullptr;
  cudaError_t ended = cudaStreamEndCapture(s, &graph);
  std::printf("capture %d %s: %s get %s status %s %d end %s graph %d\n", mode, name.c_str(), cudaGetErrorName(error), cudaGetErrorName(got),
              cudaGetErrorName(asked), status, cudaGetErrorName(ended), graph != nullptr);
  cudaGetLastError();
  CHECK(cudaStreamDestroy(s));
}

}  // namespace

int main() {
  cudaStream_t a, b, calm;
  cudaEvent_t start, stop, untimed, never;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreate(&b));
  CHECK(cudaStreamCreateWithFlags(&calm, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventCreate(&never));
  CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  unsigned flags = 9;
  CHECK(cudaStreamGetFlags(calm, &flags));
  tell("flags", flags);
  tell_call("flags of 0", cudaStreamGetFlags(nullptr, &flags));
  tell("flags of stream 0", flags);
  float time = -1;
  tell_call("query never recorded", cudaEventQuery(never));
  tell_call("synchronize never recorded", cudaEventSynchronize(never));
  tell_call("elapsed of never recorded", cudaEventElapsedTime(&time, never, never));
  CHECK(cudaEventRecord(start, a));
  spins<<<1, 1, 0, a>>>(kLong);
  CHECK(cudaEventRecord(stop, a));
  CHECK(cudaEventRecord(untimed, a));
  tell_call("query busy stream", cudaStreamQuery(a));
  tell_call("query busy event", cudaEventQuery(stop));
  tell_call("query idle stream", cudaStreamQuery(calm));
  tell_call("query stream 0 while another is busy", cudaStreamQuery(nullptr));
  tell_call("elapsed while busy", cudaEventElapsedTime(&time, start, stop));
  CHECK(cudaStreamWaitEvent(calm, stop, 0));
  tell_call("query stream that waits", cudaStreamQuery(calm));
  CHECK(cudaStreamSynchronize(a));
  tell_call("elapsed", cudaEventElapsedTime(&time, start, stop));
  tell("elapsed above 50 ms", time > 50);
  tell_call("elapsed untimed", cudaEventElapsedTime(&time, start, untimed));
  tell_call("elapsed backwards", cudaEventElapsedTime(&time, stop, start));
  tell("negative", time < 0);
  tell_call("wait never recorded", cudaStreamWaitEvent(a, never, 0));
  tell_call("wait flags 8", cudaStreamWaitEvent(a, stop, 8));
  int calls = 0;
  CHECK(cudaLaunchHostFunc(a, called, &calls));
  CHECK(cudaStreamSynchronize(a));
  tell("host function called", calls);
  tell_status("status idle", a);
  cudaGraph_t graph = nullptr;
  tell_call("end without begin, graph", cudaStreamEndCapture(a, &graph));
  tell_call("begin stream 0", cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  Array<int> memory(64);
  int* p = memory;
  int host[4] = {};
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  tell_status("status capturing", a);
  CHECK(cudaMemsetAsync(p, 0, 16, a));
  adds<<<1, 1, 0, a>>>(p, 5);
  CHECK(cudaEventRecord(untimed, a));
  CHECK(cudaStreamWaitEvent(b, untimed, 0));
  adds<<<1, 1, 0, b>>>(p + 1, 7);
  CHECK(cudaMemcpyAsync(host, p, 16, cudaMemcpyDeviceToHost, a));
  CHECK(cudaLaunchHostFunc(a, called, &calls));
  CHECK(cudaEventRecord(stop, b));
  CHECK(cudaStreamWaitEvent(a, stop, 0));
  void* drawn = nullptr;
  CHECK(cudaMallocAsync(&drawn, 1000, a));
  CHECK(cudaMemsetAsync(drawn, 1, 1000, a));
  CHECK(cudaFreeAsync(drawn, a));
  tell_call("end", cudaStreamEndCapture(a, &graph));
  tell_graph("graph", graph);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaStreamSynchronize(a));
  tell("after three launches", std::vector<int>{host[0], host[1], calls});
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  CHECK(cudaStreamEndCapture(a, &graph));
  tell_graph("empty graph", graph);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  tell_call("launch of an empty graph", cudaGraphLaunch(exec, a));
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(untimed, a));
  CHECK(cudaStreamWaitEvent(b, untimed, 0));
  adds<<<1, 1, 0, b>>>(p, 1);
  tell_call("end on the other stream", cudaStreamEndCapture(b, &graph));
  tell_call("end unjoined", cudaStreamEndCapture(a, &graph));
  tell_status("status of the other", b);
  cudaGraph_t made;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&made, 0));
  CHECK(cudaGraphAddEmptyNode(&node, made, nullptr, 0));
  tell_graph("made", made);
  void *gone = nullptr;
  CHECK(cudaMalloc(&gone, 64));
  for (auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    tell_in_capture("malloc", mode, [](cudaStream_t) { void* q = nullptr; return cudaMalloc(&q, 64); });
    tell_in_capture("free", mode, [](cudaStream_t) { void* q = nullptr; return cudaFree(q); });
    tell_in_capture("malloc host", mode, [](cudaStream_t) { void* q = nullptr; return cudaMallocHost(&q, 64); });
    tell_in_capture("synchronize device", mode, [](cudaStream_t) { return cudaDeviceSynchronize(); });
    tell_in_capture("synchronize stream", mode, [](cudaStream_t s) { return cudaStreamSynchronize(s); });
    tell_in_capture("begin again", mode, [=](cudaStream_t s) { return cudaStreamBeginCapture(s, mode); });
    tell_in_capture("query stream", mode, [](cudaStream_t s) { return cudaStreamQuery(s); });
    tell_in_capture("copy", mode, [&](cudaStream_t) { return cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice); });
    tell_in_capture("copy async H2D pageable", mode, [&](cudaStream_t s) { return cudaMemcpyAsync(p, host, 4, cudaMemcpyHostToDevice, s); });
    tell_in_capture("launch on stream 0", mode, [&](cudaStream_t) { adds<<<1, 1>>>(p, 0); return cudaPeekAtLastError(); });
    tell_in_capture("query event captured", mode, [&](cudaStream_t s) { cudaEventRecord(untimed, s); return cudaEventQuery(untimed); });
    tell_in_capture("query event before", mode, [&](cudaStream_t) { return cudaEventQuery(start); });
    tell_in_capture("create event", mode, [](cudaStream_t) { cudaEvent_t e; return cudaEventCreate(&e); });
    tell_in_capture("create stream", mode, [](cudaStream_t) { cudaStream_t s; return cudaStreamCreate(&s); });
    tell_in_capture("memory info", mode, [](cudaStream_t) { size_t x, y; return cudaMemGetInfo(&x, &y); });
    tell_in_capture("wait never recorded", mode, [&](cudaStream_t s) { return cudaStreamWaitEvent(s, never, 0); });
    tell_in_capture("bad launch", mode, [&](cudaStream_t s) { adds<<<1, 2000, 0, s>>>(p, 0); return cudaPeekAtLastError(); });
    tell_in_capture("function attribute", mode, [](cudaStream_t) { cudaFuncAttributes f; return cudaFuncGetAttributes(&f, adds); });
  }
  return 0;
}
