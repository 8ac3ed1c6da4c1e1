// Copies and kernels in several streams, with events between them, functions of the host in a
// stream, priorities, and times that events measure.
#include "sample.h"

__global__ void scale(float* data, int n, float factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    data[i] = data[i] * factor + 1;
}

__global__ void add(float* to, const float* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += from[i];
}

struct Work {
  int order[8];
  int count;
};

void CUDART_CB arrived(void* data) {
  Work* work = static_cast<Work*>(data);
  ++work->count;
}
void CUDART_CB old_callback(cudaStream_t, cudaError_t status, void* data) {
  if (status == cudaSuccess) static_cast<Work*>(data)->count += 10;
}

int main() {
  const int kStreams = 4, n = 1 << 14, part = n / kStreams;
  float *host, *device, *other;
  CHECK(cudaHostAlloc(&host, n * sizeof(float), cudaHostAllocDefault));
  CHECK(cudaMalloc(&device, n * sizeof(float)));
  CHECK(cudaMalloc(&other, part * sizeof(float)));
  for (int i = 0; i < n; ++i) host[i] = float(i % 1000);
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t streams[kStreams];
  for (int i = 0; i < kStreams; ++i)
    CHECK(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking,
                                       i == 0 ? greatest : least));
  cudaEvent_t start, stop, done[kStreams];
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  for (auto& event : done) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  Work work = {};
  CHECK(cudaEventRecord(start, streams[0]));
  for (int i = 0; i < kStreams; ++i) {
    float *h = host + i * part, *d = device + i * part;
    CHECK(cudaMemcpyAsync(d, h, part * sizeof(float), cudaMemcpyHostToDevice, streams[i]));
    scale<<<8, 128, 0, streams[i]>>>(d, part, float(i + 1));
    CHECK(cudaMemcpyAsync(h, d, part * sizeof(float), cudaMemcpyDeviceToHost, streams[i]));
    CHECK(cudaEventRecord(done[i], streams[i]));
  }
  CHECK(cudaMemsetAsync(other, 0, part * sizeof(float), streams[1]));
  for (int i = 0; i < kStreams; ++i) {
    CHECK(cudaStreamWaitEvent(streams[1], done[i], 0));
    add<<<(part + 255) / 256, 256, 0, streams[1]>>>(other, device + i * part, part);
  }
  CHECK(cudaLaunchHostFunc(streams[1], arrived, &work));
  CHECK(cudaStreamAddCallback(streams[1], old_callback, &work, 0));
  CHECK(cudaStreamSynchronize(streams[1]));
  CHECK(cudaEventRecord(stop, streams[0]));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  bool right = work.count == 11 && milliseconds >= 0 &&
               cudaStreamQuery(streams[2]) == cudaSuccess &&
               cudaEventQuery(done[3]) == cudaSuccess && greatest < least;
  std::vector<float> sum(part);
  CHECK(cudaMemcpy(sum.data(), other, part * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < part; ++i) {
    float expected = 0;
    for (int s = 0; s < kStreams; ++s) {
      const float one = float((s * part + i) % 1000) * (s + 1) + 1;
      right = right && host[s * part + i] == one;
      expected += one;
    }
    right = right && sum[i] == expected;
  }
  float unused;
  right = right && cudaEventElapsedTime(&unused, done[0], stop) == cudaErrorInvalidResourceHandle;
  (void)cudaGetLastError();
  for (auto& stream : streams) CHECK(cudaStreamDestroy(stream));
  for (auto& event : done) CHECK(cudaEventDestroy(event));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
  CHECK(cudaFree(other));
  return finish("streams_overlap", right);
}
