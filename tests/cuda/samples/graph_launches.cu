// Graphs: captured from two streams, made node by node, updated with another capture, cloned;
// launches read new data each time.
#include "sample.h"

__global__ void partial_sums(const float* in, double* out, int n) {
  __shared__ double sum[64];
  double mine = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) mine += in[i];
  sum[threadIdx.x] = mine;
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sum[0];
}

__global__ void final_sum(const double* in, double* out, int n, double scale) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i];
  *out += sum * scale;
}

void CUDART_CB count(void* data) {
  ++*static_cast<int*>(data);
}

cudaGraph_t capture(cudaStream_t stream, const float* host, float* in, double* partial, double* out,
                    int n, double scale) {
  cudaStream_t side;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreate(&side));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  CHECK(cudaMemcpyAsync(in, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemsetAsync(out, 0, sizeof(double), side));
  CHECK(cudaEventRecord(join, side));
  partial_sums<<<8, 64, 0, stream>>>(in, partial, n);
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  final_sum<<<1, 1, 0, stream>>>(partial, out, 8, scale);
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(stream, &status));
  CHECK(cudaStreamEndCapture(stream, &graph));
  if (status != cudaStreamCaptureStatusActive) std::exit(1);
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(side));
  return graph;
}

int main() {
  const int n = 3000;
  float* host;
  CHECK(cudaMallocHost(&host, n * sizeof(float)));
  Array<float> in(n);
  Array<double> partial(8), out(1);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  auto fill = [&](float from) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += host[i] = from + i % 10;
    return sum;
  };
  cudaGraph_t graph = capture(stream, host, in, partial, out, n, 1);
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  bool right = nodes == 4;
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 0; launch < 3; ++launch) {
    const double sum = fill(float(launch));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    right = right && out.host()[0] == sum;
  }
  cudaGraph_t other = capture(stream, host, in, partial, out, n, -2);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(executable, other, &info));
  double sum = fill(5);
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  right = right && info.result == cudaGraphExecUpdateSuccess && out.host()[0] == -2 * sum;

  // By hand: memory set, then kernel, then a function of the host.
  cudaGraph_t manual;
  CHECK(cudaGraphCreate(&manual, 0));
  cudaGraphNode_t set, kernel, function;
  cudaMemsetParams memory = {};
  memory.dst = (double*)out, memory.elementSize = 4, memory.width = 2, memory.height = 1;
  CHECK(cudaGraphAddMemsetNode(&set, manual, nullptr, 0, &memory));
  const double* arg_in = partial;
  double* arg_out = out;
  int arg_n = 8;
  double arg_scale = 10;
  void* arguments[] = {&arg_in, &arg_out, &arg_n, &arg_scale};
  cudaKernelNodeParams launch = {};
  launch.func = (void*)final_sum, launch.gridDim = dim3(1), launch.blockDim = dim3(1);
  launch.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&kernel, manual, &set, 1, &launch));
  int counter = 0;
  cudaHostNodeParams call = {};
  call.fn = count, call.userData = &counter;
  CHECK(cudaGraphAddHostNode(&function, manual, &kernel, 1, &call));
  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, manual));
  CHECK(cudaGraphDestroy(manual));
  cudaGraphExec_t second;
  CHECK(cudaGraphInstantiate(&second, clone, 0));
  CHECK(cudaGraphLaunch(second, stream));
  CHECK(cudaGraphLaunch(second, stream));
  CHECK(cudaStreamSynchronize(stream));
  right = right && counter == 2 && out.host()[0] == 10 * sum;
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphExecDestroy(second));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(host));
  return finish("graph_launches", right);
}
