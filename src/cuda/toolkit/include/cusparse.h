// Types of cuSPARSE that PyTorch's headers name (reference manual of cuSPARSE 12). Its functions
// are refused by the linker, by name.
#pragma once

#include "cuComplex.h"
#include "driver_types.h"
#include "library_types.h"

#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6
#define CUSPARSE_VERSION 12602

typedef enum {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;
typedef enum { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 } cusparseFillMode_t;
typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 } cusparseDiagType_t;
typedef enum {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;
typedef enum { CUSPARSE_DIRECTION_ROW = 0, CUSPARSE_DIRECTION_COLUMN = 1 } cusparseDirection_t;
typedef enum {
  CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0,
  CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1
} cusparseSolvePolicy_t;
typedef enum {
  CUSPARSE_POINTER_MODE_HOST = 0,
  CUSPARSE_POINTER_MODE_DEVICE = 1
} cusparsePointerMode_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 } cusparseIndexBase_t;
typedef enum {
  CUSPARSE_MATRIX_TYPE_GENERAL = 0,
  CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
  CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
  CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
} cusparseMatrixType_t;
typedef enum {
  CUSPARSE_INDEX_16U = 1,
  CUSPARSE_INDEX_32I = 2,
  CUSPARSE_INDEX_64I = 3
} cusparseIndexType_t;
typedef enum {
  CUSPARSE_SPMAT_FILL_MODE = 0,
  CUSPARSE_SPMAT_DIAG_TYPE = 1
} cusparseSpMatAttribute_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 } cusparseAction_t;
struct cusparseContext;
typedef struct cusparseContext* cusparseHandle_t;
struct cusparseMatDescr;
typedef struct cusparseMatDescr* cusparseMatDescr_t;
struct bsrsv2Info;
typedef struct bsrsv2Info* bsrsv2Info_t;
struct bsrsm2Info;
typedef struct bsrsm2Info* bsrsm2Info_t;
struct cusparseSpVecDescr;
struct cusparseDnVecDescr;
struct cusparseSpMatDescr;
struct cusparseDnMatDescr;
typedef struct cusparseSpVecDescr* cusparseSpVecDescr_t;
typedef struct cusparseDnVecDescr* cusparseDnVecDescr_t;
typedef struct cusparseSpMatDescr* cusparseSpMatDescr_t;
typedef struct cusparseDnMatDescr* cusparseDnMatDescr_t;
typedef const struct cusparseSpMatDescr* cusparseConstSpMatDescr_t;
typedef const struct cusparseDnMatDescr* cusparseConstDnMatDescr_t;
typedef const struct cusparseDnVecDescr* cusparseConstDnVecDescr_t;
struct cusparseSpSVDescr;
typedef struct cusparseSpSVDescr* cusparseSpSVDescr_t;
struct cusparseSpSMDescr;
typedef struct cusparseSpSMDescr* cusparseSpSMDescr_t;
struct cusparseSpGEMMDescr;
typedef struct cusparseSpGEMMDescr* cusparseSpGEMMDescr_t;

#define TORCHPORT_CUSPARSE extern "C" __attribute__((visibility("default"))) cusparseStatus_t
TORCHPORT_CUSPARSE cusparseCreateMatDescr(cusparseMatDescr_t* descriptor);
TORCHPORT_CUSPARSE cusparseDestroyMatDescr(cusparseMatDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseSetMatFillMode(cusparseMatDescr_t descriptor, cusparseFillMode_t mode);
TORCHPORT_CUSPARSE cusparseSetMatDiagType(cusparseMatDescr_t descriptor, cusparseDiagType_t type);
TORCHPORT_CUSPARSE cusparseDestroyBsrsv2Info(bsrsv2Info_t info);
TORCHPORT_CUSPARSE cusparseDestroyBsrsm2Info(bsrsm2Info_t info);
TORCHPORT_CUSPARSE cusparseCreateBsrsv2Info(bsrsv2Info_t* info);
TORCHPORT_CUSPARSE cusparseCreateBsrsm2Info(bsrsm2Info_t* info);
TORCHPORT_CUSPARSE cusparseDestroySpMat(cusparseConstSpMatDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseDestroyDnMat(cusparseConstDnMatDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseDestroyDnVec(cusparseConstDnVecDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseSpMatGetSize(cusparseConstSpMatDescr_t descriptor, long* rows,
                                        long* columns, long* nnz);
TORCHPORT_CUSPARSE cusparseCsrSetPointers(cusparseSpMatDescr_t descriptor, void* rows,
                                          void* columns, void* values);
TORCHPORT_CUSPARSE cusparseSpMatSetAttribute(cusparseSpMatDescr_t descriptor,
                                             cusparseSpMatAttribute_t attribute, void* data,
                                             size_t bytes);
TORCHPORT_CUSPARSE cusparseSpSV_createDescr(cusparseSpSVDescr_t* descriptor);
TORCHPORT_CUSPARSE cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseSpSM_createDescr(cusparseSpSMDescr_t* descriptor);
TORCHPORT_CUSPARSE cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descriptor);
TORCHPORT_CUSPARSE cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descriptor);
TORCHPORT_CUSPARSE cusparseCreate(cusparseHandle_t* handle);
TORCHPORT_CUSPARSE cusparseDestroy(cusparseHandle_t handle);
TORCHPORT_CUSPARSE cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
#undef TORCHPORT_CUSPARSE
extern "C" __attribute__((visibility("default"))) const char* cusparseGetErrorString(
    cusparseStatus_t status);
