// Types of cuBLASLt that PyTorch's headers name. Its functions are refused by the linker, by name.
#pragma once

#include "cublas_api.h"

typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct {
  unsigned long long data[8];
} cublasLtMatmulAlgo_t;
typedef struct cublasLtMatmulDescOpaque* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque* cublasLtMatmulPreference_t;
