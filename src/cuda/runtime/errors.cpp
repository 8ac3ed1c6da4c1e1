// Errors of CUDA's runtime.
#include "cuda/runtime/state.h"
#include "cuda_runtime_api.h"

using namespace torchport::cuda;

cudaError_t cudaGetLastError() {
  return static_cast<cudaError_t>(last_error(true));
}
cudaError_t cudaPeekAtLastError() {
  return static_cast<cudaError_t>(last_error(false));
}
cudaError_t cudaDeviceSynchronize() {
  return static_cast<cudaError_t>(device_status());
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "unknown error";
}
