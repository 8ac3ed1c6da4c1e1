// What the C++ layer of CCCL 13 and programs ask CUDA's driver for since CUDA 12.5, by name.
#include <cstdio>
#include <cstdlib>

#include <cudaTypedefs.h>
#include <nvtx3/nvToolsExt.h>

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

__global__ void fill(int* a, int n) {
  __builtin_assume(n > 0);
  a[threadIdx.x % n] = n;
}

void marks() {
  nvtxEventAttributes_t attributes{};
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  attributes.payload.iValue = 3;
  const nvtxDomainHandle_t domain = nvtxDomainCreateW(L"domain");
  CHECK(nvtxDomainRangePushEx(domain, &attributes) == 0 && nvtxDomainRangePop(domain) == 0);
}

// A function has the form of the release of CUDA that is named.
void streams() {
  PFN_cuGetProcAddress get = nullptr;
  CHECK(cudaGetDriverEntryPoint("cuGetProcAddress", reinterpret_cast<void**>(&get),
                                cudaEnableDefault, nullptr) == cudaSuccess);
  CUresult (*before)(CUstream, CUcontext*) = nullptr;
  CUresult (*since)(CUstream, CUcontext*, CUgreenCtx*) = nullptr;
  CHECK(get("cuStreamGetCtx", reinterpret_cast<void**>(&before), 12000, 0, nullptr) == 0);
  CHECK(get("cuStreamGetCtx", reinterpret_cast<void**>(&since), 12050, 0, nullptr) == 0);
  CUcontext first = nullptr, second = nullptr;
  CUgreenCtx green = reinterpret_cast<CUgreenCtx>(1);
  CHECK(before(nullptr, &first) == CUDA_SUCCESS && since(nullptr, &second, &green) == CUDA_SUCCESS);
  CHECK(first != nullptr && first == second && green == nullptr);
  CHECK(get("cuNoSuchFunction", reinterpret_cast<void**>(&before), 13000, 0, nullptr) ==
        CUDA_ERROR_NOT_FOUND);
  CUdevice device = -1;
  CHECK(cuStreamGetDevice(nullptr, &device) == CUDA_SUCCESS && device == 0);
}

void pools() {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr, standard = nullptr, same = nullptr;
  CHECK(cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS);
  CHECK(cuDeviceGetDefaultMemPool(&standard, 0) == CUDA_SUCCESS && standard != pool);
  CHECK(cuMemGetDefaultMemPool(&same, &properties.location, CU_MEM_ALLOCATION_TYPE_PINNED) ==
            CUDA_SUCCESS &&
        same == standard);
  CUdeviceptr data = 0;
  CHECK(cuMemAllocFromPoolAsync(&data, 1 << 20, pool, nullptr) == CUDA_SUCCESS);
  cuuint64_t used = 0;
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS);
  CHECK(used == 1 << 20);
  CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CHECK(cuMemPoolGetAccess(&access, pool, &properties.location) == CUDA_SUCCESS);
  CHECK(access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  int numbers[4] = {1, 2, 3, 4}, back[4] = {};
  CUdeviceptr to[] = {data, reinterpret_cast<CUdeviceptr>(back)};
  CUdeviceptr from[] = {reinterpret_cast<CUdeviceptr>(numbers), data};
  std::size_t bytes[] = {sizeof(numbers), sizeof(numbers)};
  CHECK(cuMemcpyBatchAsync(to, from, bytes, 2, nullptr, nullptr, 0, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemcpyBatchAsync(to, from, bytes, 0, nullptr, nullptr, 0, nullptr) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS && back[3] == 4);
  fill<<<1, 32>>>(reinterpret_cast<int*>(data), 4);
  CHECK(cuMemcpyDtoH(back, data, sizeof(back)) == CUDA_SUCCESS && back[0] == 4);
  CHECK(cuMemFreeAsync(data, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS && cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}

int main() {
  CHECK(cudaFree(nullptr) == cudaSuccess);
  marks();
  streams();
  pools();
  std::printf("right\n");
  return 0;
}
