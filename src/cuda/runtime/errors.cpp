// Errors of CUDA's runtime: their names and texts, and the last one of a thread.
#include "cuda/runtime/state.h"
#include "runtime/device/runtime_error_words.h"

using namespace torchport::cuda;

cudaError_t cudaGetLastError() {
  return static_cast<cudaError_t>(last_error(true));
}
cudaError_t cudaPeekAtLastError() {
  return static_cast<cudaError_t>(last_error(false));
}
const char* cudaGetErrorName(cudaError_t error) {
  return torchport::device::runtime_error_words(error).name.data();  // of a literal
}
const char* cudaGetErrorString(cudaError_t error) {
  return torchport::device::runtime_error_words(error).text.data();  // of a literal
}
