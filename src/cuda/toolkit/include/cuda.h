#pragma once
#include <cstdint>
#define CUDA_VERSION 13000
enum CUresult { CUDA_SUCCESS = 0 }; typedef int CUdevice; typedef struct CUctx_st* CUcontext; typedef unsigned long long CUdeviceptr; typedef struct CUstream_st* CUstream; typedef struct CUfunc_st* CUfunction; typedef struct CUmod_st* CUmodule; typedef struct CUgreenCtx_st* CUgreenCtx;
