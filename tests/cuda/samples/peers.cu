// Two devices: copies from one to the other, kernels that read the memory of the other, streams and
// events of both. With one device, the program has nothing to do.
#include "sample.h"

__global__ void twice(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2 + 1;
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  if (count < 2) return finish("peers", true);
  int forth = 0, back = 0;
  CHECK(cudaDeviceCanAccessPeer(&forth, 0, 1));
  CHECK(cudaDeviceCanAccessPeer(&back, 1, 0));
  if (!forth || !back) return finish("peers", true);
  const int n = 4000;
  int *first, *second, *host;
  CHECK(cudaMallocHost(&host, n * sizeof(int)));
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaMalloc(&first, n * sizeof(int)));
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  CHECK(cudaMalloc(&second, n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  bool right = cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled;
  (void)cudaGetLastError();
  CHECK(cudaSetDevice(0));
  cudaStream_t here, there;
  cudaEvent_t done;
  CHECK(cudaStreamCreate(&here));
  CHECK(cudaEventCreate(&done));
  CHECK(cudaMemcpyAsync(first, host, n * sizeof(int), cudaMemcpyHostToDevice, here));
  CHECK(cudaEventRecord(done, here));
  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamCreate(&there));
  CHECK(cudaStreamWaitEvent(there, done, 0));
  twice<<<(n + 255) / 256, 256, 0, there>>>(first, second, n);  // reads the other device
  CHECK(cudaMemcpyPeerAsync(first, 0, second, 1, n * sizeof(int), there));
  CHECK(cudaStreamSynchronize(there));
  CHECK(cudaSetDevice(0));
  twice<<<(n + 255) / 256, 256>>>(first, second, n);  // writes it
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, second, n * sizeof(int), cudaMemcpyDefault));
  for (int i = 0; i < n; ++i) right = right && host[i] == (2 * i + 1) * 2 + 1;
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, second));
  right = right && attributes.device == 1 && attributes.type == cudaMemoryTypeDevice;
  CHECK(cudaDeviceDisablePeerAccess(1));
  CHECK(cudaFree(first));
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(second));
  CHECK(cudaStreamDestroy(there));
  CHECK(cudaFreeHost(host));
  return finish("peers", right);
}
