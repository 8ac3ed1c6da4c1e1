// Bad launches and bad arguments: what each call says, and what stays to be asked for.
#include "told.h"

#include <cooperative_groups.h>

namespace {

__global__ void nothing() {}
__global__ void writes(int* p) { *p = 1; }
__global__ void __launch_bounds__(128) bounded() {}
__global__ void static_shared(int* out) {
  __shared__ int s[12000];
  s[threadIdx.x] = 1;
  __syncthreads();
  out[0] = s[5];
}
__global__ void dynamic_shared(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = 1;
  __syncthreads();
  out[0] = s[0];
}
__global__ void cooperative() { cooperative_groups::this_grid().sync(); }
__global__ void __cluster_dims__(2, 1, 1) clustered() {}

// A call's result, then what cudaPeekAtLastError and two calls of cudaGetLastError say.
void tell_call(const std::string& name, cudaError_t error) {
  cudaError_t peek = cudaPeekAtLastError(), first = cudaGetLastError(), second = cudaGetLastError();
  cudaError_t waited = cudaDeviceSynchronize();
  std::printf("%s: %s peek %s get %s again %s wait %s\n", name.c_str(), cudaGetErrorName(error), cudaGetErrorName(peek),
              cudaGetErrorName(first), cudaGetErrorName(second), cudaGetErrorName(waited));
}

void tell_launch(const std::string& name, dim3 grid, dim3 block, size_t shared = 0) {
  nothing<<<grid, block, shared>>>();
  tell_call(name, cudaSuccess);
}

}  // namespace

int main() {
  Array<int> out(4);
  tell_launch("good", 1, 1);
  tell_launch("0 blocks", 0, 1);
  tell_launch("0 threads", 1, 0);
  tell_launch("grid y 0", dim3(1, 0, 1), 1);
  tell_launch("1024 threads", 1, 1024);
  tell_launch("1025 threads", 1, 1025);
  tell_launch("block 32 32 2", 1, dim3(32, 32, 2));
  tell_launch("block y 1024", 1, dim3(1, 1024, 1));
  tell_launch("block z 64", 1, dim3(1, 1, 64));
  tell_launch("block z 65", 1, dim3(1, 1, 65));
  tell_launch("grid y 65535", dim3(1, 65535, 1), 1);
  tell_launch("grid y 65536", dim3(1, 65536, 1), 1);
  tell_launch("grid z 65536", dim3(1, 1, 65536), 1);
  tell_launch("grid x 2^31", dim3(1u << 31, 1, 1), 1);
  tell_launch("shared 48 KiB", 1, 1, 49152);
  tell_launch("shared 48 KiB + 1", 1, 1, 49153);
  tell_launch("shared 300 KiB", 1, 1, 307200);
  tell_launch("shared 2^33", 1, 1, 1ull << 33);
  tell_call("attribute 227 KiB", cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  dynamic_shared<<<1, 32, 227 * 1024>>>(out);
  tell_call("shared 227 KiB with attribute", cudaSuccess);
  dynamic_shared<<<1, 32, 227 * 1024 + 1>>>(out);
  tell_call("shared 227 KiB + 1", cudaSuccess);
  tell_call("attribute 227 KiB + 1", cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1));
  tell_call("attribute -1", cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  tell_call("attribute carveout 50", cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  tell_call("attribute carveout 101", cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
  tell_call("attribute 99", cudaFuncSetAttribute(dynamic_shared, static_cast<cudaFuncAttribute>(99), 1));
  static_shared<<<1, 32, 1152>>>(out);
  tell_call("static 48000 dynamic 1152", cudaSuccess);
  static_shared<<<1, 32, 1153>>>(out);
  tell_call("static 48000 dynamic 1153", cudaSuccess);
  bounded<<<1, 128>>>();
  tell_call("launch bounds 128, 128 threads", cudaSuccess);
  bounded<<<1, 129>>>();
  tell_call("launch bounds 128, 129 threads", cudaSuccess);
  bounded<<<1, 1024>>>();
  tell_call("launch bounds 128, 1024 threads", cudaSuccess);
  clustered<<<3, 32>>>();
  tell_call("3 blocks in clusters of 2", cudaSuccess);
  clustered<<<4, 32>>>();
  tell_call("4 blocks in clusters of 2", cudaSuccess);
  void* none[1] = {nullptr};
  tell_call("launch kernel null", cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), none, 0, nullptr));
  int local = 0;
  tell_call("launch kernel of no function", cudaLaunchKernel(static_cast<const void*>(&local), dim3(1), dim3(1), none, 0, nullptr));
  tell_call("attributes of no function", cudaFuncSetAttribute(static_cast<const void*>(&local), cudaFuncAttributeMaxDynamicSharedMemorySize, 1));
  tell_call("cooperative 1", cudaLaunchCooperativeKernel((void*)cooperative, dim3(1), dim3(32), none, 0, nullptr));
  tell_call("cooperative 100000", cudaLaunchCooperativeKernel((void*)cooperative, dim3(100000), dim3(32), none, 0, nullptr));
  tell_call("cooperative 0", cudaLaunchCooperativeKernel((void*)cooperative, dim3(0), dim3(32), none, 0, nullptr));
  cudaLaunchConfig_t config = {};
  config.gridDim = 20, config.blockDim = 32;
  cudaLaunchAttribute attribute = {};
  config.attrs = &attribute, config.numAttrs = 1;
  attribute.id = cudaLaunchAttributeClusterDimension;
  for (unsigned x : {0u, 1u, 3u, 4u, 8u, 10u, 16u, 20u}) {
    attribute.val.clusterDim.x = x, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
    tell_call("20 blocks, cluster " + std::to_string(x), cudaLaunchKernelEx(&config, nothing));
  }
  tell_call("set device 99", cudaSetDevice(99));
  tell_call("set device -1", cudaSetDevice(-1));
  cudaDeviceProp properties;
  tell_call("properties 99", cudaGetDeviceProperties(&properties, 99));
  int value = 0;
  tell_call("device attribute 9999", cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
  void* p = nullptr;
  tell_call("malloc 0", cudaMalloc(&p, 0));
  tell("malloc 0 gives null", p == nullptr);
  tell_call("malloc 2^60", cudaMalloc(&p, 1ull << 60));
  tell_call("malloc null", cudaMalloc(static_cast<void**>(nullptr), 4));
  tell_call("malloc host 2^50", cudaMallocHost(&p, 1ull << 50));
  tell_call("managed 2^60", cudaMallocManaged(&p, 1ull << 60));
  tell_call("free null", cudaFree(nullptr));
  tell_call("free host memory", cudaFree(&local));
  tell_call("free inside", cudaFree(static_cast<int*>(out) + 1));
  tell_call("free host null", cudaFreeHost(nullptr));
  tell_call("free host of device memory", cudaFreeHost(out));
  CHECK(cudaMalloc(&p, 64));
  CHECK(cudaFree(p));
  tell_call("free twice", cudaFree(p));
  tell_call("free async of no memory", cudaFreeAsync(p, nullptr));
  tell_call("destroy stream null", cudaStreamDestroy(nullptr));
  tell_call("destroy event null", cudaEventDestroy(nullptr));
  tell_call("synchronize event null", cudaEventSynchronize(nullptr));
  cudaStream_t s;
  tell_call("stream flags 7", cudaStreamCreateWithFlags(&s, 7));
  tell_call("stream priority -100", cudaStreamCreateWithPriority(&s, cudaStreamDefault, -100));
  int given = 0;
  tell_call("stream priority", cudaStreamGetPriority(s, &given));
  tell("priority -100 becomes", given);
  tell_call("event flags 64", cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(&p), 64));
  tell_call("limit 99", cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1));
  tell_call("peer itself", cudaDeviceCanAccessPeer(&value, 0, 0));
  tell_call("enable peer itself", cudaDeviceEnablePeerAccess(0, 0));
  return 0;
}
