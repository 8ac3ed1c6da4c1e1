// Memory of virtual devices, for cudaMalloc and its kin.
#include <cstdlib>
#include <cstring>

#include "cuda/runtime/state.h"
#include "cuda_runtime_api.h"

using namespace torchport::cuda;

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (const int error = device_status()) return static_cast<cudaError_t>(error);
  *data = bytes == 0 ? nullptr : std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (const int error = device_status()) return static_cast<cudaError_t>(error);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (const int error = device_status()) return static_cast<cudaError_t>(error);
  std::memset(to, value, bytes);
  return cudaSuccess;
}
