#include <cstdio>

#include "cuda.h"

namespace {

CUresult refused(const char* name) {
  std::fprintf(stderr, "torchport: %s: virtual devices do not have it\n", name);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

#define TORCHPORT_REFUSED(NAME, PARAMETERS) \
  CUresult NAME PARAMETERS {                \
    return refused(#NAME);                  \
  }
TORCHPORT_REFUSED_DRIVER_FUNCTIONS(TORCHPORT_REFUSED)
