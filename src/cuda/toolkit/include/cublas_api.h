// Types of cuBLAS, and its products of matrices. Numbers are those of cuBLAS 13 (its reference
// manual).
#pragma once

#include "cuComplex.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "driver_types.h"
#include "library_types.h"

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 2
#define CUBLAS_VERSION 130002

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum {
  CUBLAS_FILL_MODE_LOWER = 0,
  CUBLAS_FILL_MODE_UPPER = 1,
  CUBLAS_FILL_MODE_FULL = 2
} cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3
} cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99
} cublasGemmAlgo_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;

#define TORCHPORT_CUBLAS extern "C" __attribute__((visibility("default"))) cublasStatus_t
// Pointers are to memory of a device or of the host; matrices are in columns. A call is complete
// when it returns. Thread safe for different handles.
TORCHPORT_CUBLAS cublasCreate_v2(cublasHandle_t* handle);
TORCHPORT_CUBLAS cublasDestroy_v2(cublasHandle_t handle);
TORCHPORT_CUBLAS cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
TORCHPORT_CUBLAS cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
TORCHPORT_CUBLAS cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
TORCHPORT_CUBLAS cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode);
TORCHPORT_CUBLAS cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
TORCHPORT_CUBLAS cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
TORCHPORT_CUBLAS cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);
TORCHPORT_CUBLAS cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                                cublasOperation_t transb, int m, int n, int k, const float* alpha,
                                const float* A, int lda, const float* B, int ldb, const float* beta,
                                float* C, int ldc);
TORCHPORT_CUBLAS cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                                cublasOperation_t transb, int m, int n, int k, const double* alpha,
                                const double* A, int lda, const double* B, int ldb,
                                const double* beta, double* C, int ldc);
TORCHPORT_CUBLAS cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                             cublasOperation_t transb, int m, int n, int k, const __half* alpha,
                             const __half* A, int lda, const __half* B, int ldb, const __half* beta,
                             __half* C, int ldc);
TORCHPORT_CUBLAS cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                           cublasOperation_t transb, int m, int n, int k,
                                           const float* alpha, const float* A, int lda,
                                           long long strideA, const float* B, int ldb,
                                           long long strideB, const float* beta, float* C, int ldc,
                                           long long strideC, int count);
TORCHPORT_CUBLAS cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                           cublasOperation_t transb, int m, int n, int k,
                                           const double* alpha, const double* A, int lda,
                                           long long strideA, const double* B, int ldb,
                                           long long strideB, const double* beta, double* C,
                                           int ldc, long long strideC, int count);
TORCHPORT_CUBLAS cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const void* alpha,
                              const void* A, cudaDataType Atype, int lda, const void* B,
                              cudaDataType Btype, int ldb, const void* beta, void* C,
                              cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                              cublasGemmAlgo_t algo);
TORCHPORT_CUBLAS cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
    cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype,
    int ldc, long long strideC, int count, cublasComputeType_t computeType, cublasGemmAlgo_t algo);
TORCHPORT_CUBLAS cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n,
                                const float* alpha, const float* A, int lda, const float* x,
                                int incx, const float* beta, float* y, int incy);
TORCHPORT_CUBLAS cublasSaxpy_v2(cublasHandle_t handle, int n, const float* alpha, const float* x,
                                int incx, float* y, int incy);
TORCHPORT_CUBLAS cublasSdot_v2(cublasHandle_t handle, int n, const float* x, int incx,
                               const float* y, int incy, float* result);
TORCHPORT_CUBLAS cublasSscal_v2(cublasHandle_t handle, int n, const float* alpha, float* x,
                                int incx);
extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusString(
    cublasStatus_t status);
extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusName(
    cublasStatus_t status);
#undef TORCHPORT_CUBLAS

#ifdef __cplusplus
// The products by their types, as older programs pass them: a cudaDataType where the compute type
// is.
inline cublasComputeType_t torchport_compute_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
      return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* A, cudaDataType Atype, int lda, const void* B,
                                   cudaDataType Btype, int ldb, const void* beta, void* C,
                                   cudaDataType Ctype, int ldc, cudaDataType computeType,
                                   cublasGemmAlgo_t algo) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C,
                      Ctype, ldc, torchport_compute_type(computeType), algo);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
    cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype,
    int ldc, long long strideC, int count, cudaDataType computeType, cublasGemmAlgo_t algo) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA,
                                    B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, count,
                                    torchport_compute_type(computeType), algo);
}
#endif

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasSgemv cublasSgemv_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasSdot cublasSdot_v2
#define cublasSscal cublasSscal_v2
