// Graphs that are made by hand, updated, and captured into a graph that is there.
#include <cstdio>
#include <cstring>

__global__ void adds(int* p, int by) { *p += by; }

int main() {
  int* p = nullptr;
  int host = 0, by = 3;
  cudaMalloc(&p, 4);
  cudaGraph_t graph, child;
  cudaGraphNode_t set, kernel, copy, nested;
  cudaGraphExec_t exec;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraphCreate(&graph, 0);
  cudaMemsetParams zero{};
  zero.dst = p, zero.elementSize = 4, zero.width = 1, zero.height = 1, zero.value = 100;
  cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zero);
  void* arguments[] = {&p, &by};
  cudaKernelNodeParams run{};
  run.func = reinterpret_cast<void*>(adds), run.gridDim = 1, run.blockDim = 1;
  run.kernelParams = arguments;
  cudaGraphAddKernelNode(&kernel, graph, &set, 1, &run);
  cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &host, p, 4, cudaMemcpyDeviceToHost);
  by = 77;  // the node keeps what it was given
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  std::printf("made by hand: %d\n", host);
  by = 5;
  cudaGraphExecKernelNodeSetParams(exec, kernel, &run);
  cudaGraphLaunch(exec, stream);
  std::printf("updated: %d\n", host);
  cudaGraphCreate(&child, 0);
  cudaStreamBeginCaptureToGraph(stream, child, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal);
  adds<<<1, 1, 0, stream>>>(p, 1000);
  cudaMemcpyAsync(&host, p, 4, cudaMemcpyDeviceToHost, stream);
  cudaStreamEndCapture(stream, &child);
  cudaGraphAddChildGraphNode(&nested, graph, &copy, 1, child);
  cudaGraphExec_t both;
  cudaGraphInstantiate(&both, graph, 0);
  cudaGraphLaunch(both, stream);
  std::printf("with a child: %d\n", host);
  cudaGraphAddDependencies(graph, &nested, &set, 1);
  std::printf("a circle: %s\n", cudaGetErrorName(cudaGraphInstantiate(&both, graph, 0)));
}
