// Memory pools: attributes, what asynchronous allocation reuses, errors.
#include "told.h"

namespace {

__global__ void spins(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
}

void tell_call(const std::string& name, cudaError_t error) {
  std::printf("%s: %s get %s\n", name.c_str(), cudaGetErrorName(error), cudaGetErrorName(cudaGetLastError()));
}

void tell_pool(const std::string& name, cudaMemPool_t pool) {
  std::printf("%s:", name.c_str());
  for (auto which : {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic, cudaMemPoolReuseAllowInternalDependencies}) {
    int value = -1;
    cudaError_t error = cudaMemPoolGetAttribute(pool, which, &value);
    std::printf(" %d/%d", error, value);
  }
  for (auto which : {cudaMemPoolAttrReleaseThreshold, cudaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrReservedMemHigh,
                     cudaMemPoolAttrUsedMemCurrent, cudaMemPoolAttrUsedMemHigh}) {
    unsigned long long value = 0;
    cudaError_t error = cudaMemPoolGetAttribute(pool, which, &value);
    std::printf(" %d/%llu", error, value);
  }
  std::printf("\n");
  cudaGetLastError();
}

}  // namespace

int main() {
  cudaMemPool_t pool, current, own;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  tell("default is current", pool == current);
  tell_pool("at first", pool);
  cudaStream_t a, b;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  void *p = nullptr, *q = nullptr, *r = nullptr;
  CHECK(cudaMallocAsync(&p, 1000, a));
  tell_pool("1000 bytes", pool);
  tell("aligned to 512", reinterpret_cast<size_t>(p) % 512 == 0);
  CHECK(cudaMallocAsync(&q, 40 << 20, a));
  tell_pool("and 40 MiB", pool);
  CHECK(cudaFreeAsync(q, a));
  tell_pool("40 MiB freed", pool);
  CHECK(cudaMallocAsync(&r, 40 << 20, a));
  tell("the same stream reuses it", q == r);
  CHECK(cudaFreeAsync(r, a));
  CHECK(cudaStreamSynchronize(a));
  tell_pool("synchronized", pool);
  unsigned long long all = ~0ull;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  CHECK(cudaMallocAsync(&q, 40 << 20, a));
  CHECK(cudaFreeAsync(q, a));
  CHECK(cudaStreamSynchronize(a));
  tell_pool("kept by the threshold", pool);
  CHECK(cudaMallocAsync(&r, 40 << 20, b));
  tell("another stream reuses it after synchronization", q == r);
  CHECK(cudaFreeAsync(r, b));
  spins<<<1, 1, 0, b>>>(1000);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemPoolTrimTo(pool, 0));
  tell_pool("trimmed", pool);
  unsigned long long none = 0, five = 5;
  tell_call("reset high", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &none));
  tell_call("set high to 5", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &five));
  tell_call("set reserved", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &five));
  tell_pool("high reset", pool);
  tell_call("free by cudaFree", cudaFree(p));
  tell_call("free again", cudaFreeAsync(p, a));
  CHECK(cudaMalloc(&p, 64));
  tell_call("free async of cudaMalloc", cudaFreeAsync(p, a));
  tell_call("malloc async 0", cudaMallocAsync(&p, 0, a));
  tell_call("malloc async 2^60", cudaMallocAsync(&p, 1ull << 60, a));
  tell_call("malloc async null", cudaMallocAsync(static_cast<void**>(nullptr), 4, a));
  tell_call("free async null", cudaFreeAsync(nullptr, a));
  cudaMemPoolProps properties = {};
  tell_call("create with no type", cudaMemPoolCreate(&own, &properties));
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.maxSize = 64 << 20;
  tell_call("create", cudaMemPoolCreate(&own, &properties));
  tell_pool("own", own);
  tell_call("malloc from own", cudaMallocFromPoolAsync(&p, 1 << 20, own, a));
  tell_call("malloc from own above its size", cudaMallocFromPoolAsync(&q, 128 << 20, own, a));
  tell_call("set as current", cudaDeviceSetMemPool(0, own));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  tell("own is current", own == current);
  cudaPointerAttributes attributes{};
  tell_call("attributes", cudaPointerGetAttributes(&attributes, p));
  tell("type", attributes.type);
  tell_call("free", cudaFreeAsync(p, a));
  tell_call("destroy", cudaMemPoolDestroy(own));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  tell("default is current again", pool == current);
  tell_call("destroy default", cudaMemPoolDestroy(pool));
  return 0;
}
