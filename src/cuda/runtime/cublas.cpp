// The products of cuBLAS that extensions call (reference manual of cuBLAS 13). They add up in the
// type that is asked for, in the order of k; a GPU adds in another order. Matrices lie in columns.
#include <cstddef>
#include <vector>

#include "cublas_api.h"
#include "cuda/runtime/without_values.h"

namespace {

struct Product {
  cublasOperation_t left, right;
  int m, n, k;
  const void* alpha;
  const void* beta;
  cudaDataType a_type, b_type, c_type;
  int lda, ldb, ldc;
};

template <class T>
double element(const void* data, std::ptrdiff_t at) {
  return static_cast<double>(static_cast<float>(static_cast<const T*>(data)[at]));
}
template <>
double element<double>(const void* data, std::ptrdiff_t at) {
  return static_cast<const double*>(data)[at];
}

using Read = double (*)(const void*, std::ptrdiff_t);
using Write = void (*)(void*, std::ptrdiff_t, double);

Read reader_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return &element<__half>;
    case CUDA_R_16BF:
      return &element<__nv_bfloat16>;
    case CUDA_R_32F:
      return &element<float>;
    case CUDA_R_64F:
      return &element<double>;
    case CUDA_R_8I:
      return &element<signed char>;
    case CUDA_R_32I:
      return [](const void* data, std::ptrdiff_t at) {
        return static_cast<double>(static_cast<const int*>(data)[at]);
      };
    default:
      return nullptr;
  }
}

Write writer_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return [](void* data, std::ptrdiff_t at, double value) {
        static_cast<__half*>(data)[at] = __float2half(static_cast<float>(value));
      };
    case CUDA_R_16BF:
      return [](void* data, std::ptrdiff_t at, double value) {
        static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16(static_cast<float>(value));
      };
    case CUDA_R_32F:
      return [](void* data, std::ptrdiff_t at, double value) {
        static_cast<float*>(data)[at] = static_cast<float>(value);
      };
    case CUDA_R_64F:
      return [](void* data, std::ptrdiff_t at, double value) {
        static_cast<double*>(data)[at] = value;
      };
    case CUDA_R_32I:
      return [](void* data, std::ptrdiff_t at, double value) {
        static_cast<int*>(data)[at] = static_cast<int>(value);
      };
    default:
      return nullptr;
  }
}

// op(A) in rows of k, as doubles or floats.
template <class Sum>
std::vector<Sum> rows_of(const void* data, Read read, cublasOperation_t op, int rows, int columns,
                         int stride) {
  std::vector<Sum> result(static_cast<std::size_t>(rows) * columns);
  for (int i = 0; i < rows; ++i)
    for (int p = 0; p < columns; ++p) {
      const std::ptrdiff_t at = op == CUBLAS_OP_N ? i + static_cast<std::ptrdiff_t>(p) * stride
                                                  : p + static_cast<std::ptrdiff_t>(i) * stride;
      result[static_cast<std::size_t>(i) * columns + p] = static_cast<Sum>(read(data, at));
    }
  return result;
}

template <class Sum>
cublasStatus_t multiply(const Product& it, Sum alpha, const void* a, const void* b, Sum beta,
                        void* c) {
  const Read read_a = reader_of(it.a_type);
  const Read read_b = reader_of(it.b_type);
  const Read read_c = reader_of(it.c_type);
  const Write write = writer_of(it.c_type);
  if (read_a == nullptr || read_b == nullptr || write == nullptr)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const std::vector<Sum> left = rows_of<Sum>(a, read_a, it.left, it.m, it.k, it.lda);
  const cublasOperation_t turned = it.right == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::vector<Sum> right = rows_of<Sum>(b, read_b, turned, it.n, it.k, it.ldb);
  for (int j = 0; j < it.n; ++j) {
    const Sum* column = right.data() + static_cast<std::size_t>(j) * it.k;
    for (int i = 0; i < it.m; ++i) {
      const Sum* row = left.data() + static_cast<std::size_t>(i) * it.k;
      Sum sum = 0;
      for (int p = 0; p < it.k; ++p) sum += row[p] * column[p];
      const std::ptrdiff_t at = i + static_cast<std::ptrdiff_t>(j) * it.ldc;
      Sum result = alpha * sum;
      if (beta != Sum(0)) result += beta * static_cast<Sum>(read_c(c, at));
      write(c, at, static_cast<double>(result));
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

double scalar(const void* value, cublasComputeType_t type) {
  switch (type) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return *static_cast<const double*>(value);
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return __half2float(*static_cast<const __half*>(value));
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return *static_cast<const int*>(value);
    default:
      return *static_cast<const float*>(value);
  }
}

std::ptrdiff_t width(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_64F:
      return 8;
    default:
      return 4;
  }
}

struct Strides {
  long long a = 0, b = 0, c = 0;
  int count = 1;
};

cublasStatus_t multiply_all(const Product& it, cublasComputeType_t type, const void* a,
                            const void* b, void* c, const Strides& strides) {
  if (it.m < 0 || it.n < 0 || it.k < 0 || strides.count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (torchport::cuda::leaves_out_call("cublasGemm", {a, b, c})) return CUBLAS_STATUS_SUCCESS;
  const bool is_double = type == CUBLAS_COMPUTE_64F || type == CUBLAS_COMPUTE_64F_PEDANTIC ||
                         type == CUBLAS_COMPUTE_32I || type == CUBLAS_COMPUTE_32I_PEDANTIC;
  for (int i = 0; i < strides.count; ++i) {
    const auto* left = static_cast<const char*>(a) + i * strides.a * width(it.a_type);
    const auto* right = static_cast<const char*>(b) + i * strides.b * width(it.b_type);
    auto* to = static_cast<char*>(c) + i * strides.c * width(it.c_type);
    const double alpha = scalar(it.alpha, type);
    const double beta = scalar(it.beta, type);
    const cublasStatus_t status = is_double ? multiply<double>(it, alpha, left, right, beta, to)
                                            : multiply<float>(it, static_cast<float>(alpha), left,
                                                              right, static_cast<float>(beta), to);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = handle->math_mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t /*handle*/, void* /*workspace*/,
                                     size_t /*bytes*/) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb,
                              int m, int n, int k, const float* alpha, const float* A, int lda,
                              const float* B, int ldb, const float* beta, float* C, int ldc) {
  return multiply_all(
      {transa, transb, m, n, k, alpha, beta, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, lda, ldb, ldc},
      CUBLAS_COMPUTE_32F, A, B, C, {});
}
cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb,
                              int m, int n, int k, const double* alpha, const double* A, int lda,
                              const double* B, int ldb, const double* beta, double* C, int ldc) {
  return multiply_all(
      {transa, transb, m, n, k, alpha, beta, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, lda, ldb, ldc},
      CUBLAS_COMPUTE_64F, A, B, C, {});
}
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb,
                           int m, int n, int k, const __half* alpha, const __half* A, int lda,
                           const __half* B, int ldb, const __half* beta, __half* C, int ldc) {
  return multiply_all(
      {transa, transb, m, n, k, alpha, beta, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, lda, ldb, ldc},
      CUBLAS_COMPUTE_16F, A, B, C, {});
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float* alpha, const float* A, int lda,
                                         long long strideA, const float* B, int ldb,
                                         long long strideB, const float* beta, float* C, int ldc,
                                         long long strideC, int count) {
  return multiply_all(
      {transa, transb, m, n, k, alpha, beta, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, lda, ldb, ldc},
      CUBLAS_COMPUTE_32F, A, B, C, {strideA, strideB, strideC, count});
}
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const double* alpha, const double* A, int lda,
                                         long long strideA, const double* B, int ldb,
                                         long long strideB, const double* beta, double* C, int ldc,
                                         long long strideC, int count) {
  return multiply_all(
      {transa, transb, m, n, k, alpha, beta, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, lda, ldb, ldc},
      CUBLAS_COMPUTE_64F, A, B, C, {strideA, strideB, strideC, count});
}
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb,
                            int m, int n, int k, const void* alpha, const void* A,
                            cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb,
                            const void* beta, void* C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t) {
  return multiply_all({transa, transb, m, n, k, alpha, beta, Atype, Btype, Ctype, lda, ldb, ldc},
                      computeType, A, B, C, {});
}
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
    cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype,
    int ldc, long long strideC, int count, cublasComputeType_t computeType, cublasGemmAlgo_t) {
  return multiply_all({transa, transb, m, n, k, alpha, beta, Atype, Btype, Ctype, lda, ldb, ldc},
                      computeType, A, B, C, {strideA, strideB, strideC, count});
}
cublasStatus_t cublasSgemv_v2(cublasHandle_t, cublasOperation_t trans, int m, int n,
                              const float* alpha, const float* A, int lda, const float* x, int incx,
                              const float* beta, float* y, int incy) {
  if (torchport::cuda::leaves_out_call("cublasSgemv", {A, x, y})) return CUBLAS_STATUS_SUCCESS;
  const int rows = trans == CUBLAS_OP_N ? m : n;
  const int columns = trans == CUBLAS_OP_N ? n : m;
  for (int i = 0; i < rows; ++i) {
    float sum = 0;
    for (int p = 0; p < columns; ++p) {
      const std::ptrdiff_t at = trans == CUBLAS_OP_N ? i + static_cast<std::ptrdiff_t>(p) * lda
                                                     : p + static_cast<std::ptrdiff_t>(i) * lda;
      sum += A[at] * x[static_cast<std::ptrdiff_t>(p) * incx];
    }
    float& to = y[static_cast<std::ptrdiff_t>(i) * incy];
    to = *alpha * sum + (*beta == 0 ? 0 : *beta * to);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSaxpy_v2(cublasHandle_t, int n, const float* alpha, const float* x, int incx,
                              float* y, int incy) {
  if (torchport::cuda::leaves_out_call("cublasSaxpy", {x, y})) return CUBLAS_STATUS_SUCCESS;
  for (std::ptrdiff_t i = 0; i < n; ++i) y[i * incy] += *alpha * x[i * incx];
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSdot_v2(cublasHandle_t, int n, const float* x, int incx, const float* y,
                             int incy, float* result) {
  *result = 0;
  if (torchport::cuda::leaves_out_call("cublasSdot", {x, y})) return CUBLAS_STATUS_SUCCESS;
  for (std::ptrdiff_t i = 0; i < n; ++i) *result += x[i * incx] * y[i * incy];
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSscal_v2(cublasHandle_t, int n, const float* alpha, float* x, int incx) {
  if (torchport::cuda::leaves_out_call("cublasSscal", {x})) return CUBLAS_STATUS_SUCCESS;
  for (std::ptrdiff_t i = 0; i < n; ++i) x[i * incx] *= *alpha;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return cublasGetStatusName(status);
}
