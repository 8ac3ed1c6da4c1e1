// Errors of CUDA's runtime: their names and texts, and the last one of a thread.
#include <cstddef>

#include "cuda/runtime/error_tables.h"
#include "cuda/runtime/state.h"

using namespace torchport::cuda;

namespace {

constexpr const char* kUnknown = "unrecognized error code";

const ErrorText* text_of(int error) {
  for (const ErrorText& one : kRuntimeErrors)
    if (one.number == error) return &one;
  return nullptr;
}

}  // namespace

cudaError_t cudaGetLastError() {
  return static_cast<cudaError_t>(last_error(true));
}
cudaError_t cudaPeekAtLastError() {
  return static_cast<cudaError_t>(last_error(false));
}
const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* found = text_of(error);
  return found == nullptr ? kUnknown : found->name;
}
const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* found = text_of(error);
  return found == nullptr ? kUnknown : found->text;
}
