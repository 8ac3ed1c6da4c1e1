// What the functions of CUDA's driver share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda.h"
#include "cuda/runtime/state.h"

struct CUctx_st {
  int device = 0;
  bool is_primary = false;
};

struct CUfunc_st {
  const void* function = nullptr;
  std::string name{};
  CUmodule module = nullptr;
};

struct CUmod_st {
  void* library = nullptr;  // of dlopen()
  std::vector<std::unique_ptr<CUfunc_st>> functions{};
};

namespace torchport::cuda {

bool driver_is_initialized();
CUcontext current_context();
// The driver's number of an error of the runtime.
CUresult result_of(int error);

// Calls a function of the runtime for the driver: the runtime's last error stays as it was.
template <class Call>
CUresult without_context(Call call) {
  if (!driver_is_initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  const int before = last_error(true);
  const int error = call();
  last_error(true);
  if (before != 0) noted(before);
  return result_of(error);
}
template <class Call>
CUresult in_context(Call call) {
  if (driver_is_initialized() && current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return without_context(call);
}

inline void* pointer(CUdeviceptr data) {
  return reinterpret_cast<void*>(data);
}

// The function of a name that is exported, in the latest form that it has in a release of CUDA
// (12050: 12.5); null if there is none.
void* exported(const char* name, int version);

}  // namespace torchport::cuda
