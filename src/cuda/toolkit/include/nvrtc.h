// CUDA's compiler at run time (reference manual of NVRTC, 13.0), by `torchport nvcc`.
#pragma once

#include <stddef.h>

#if defined(__cplusplus)
#define TORCHPORT_NVRTC extern "C" __attribute__((visibility("default")))
#else
#define TORCHPORT_NVRTC extern __attribute__((visibility("default")))
#endif

typedef enum {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
  NVRTC_ERROR_TIME_FILE_WRITE_FAILED = 12
} nvrtcResult;

typedef struct _nvrtcProgram* nvrtcProgram;

TORCHPORT_NVRTC const char* nvrtcGetErrorString(nvrtcResult result);
TORCHPORT_NVRTC nvrtcResult nvrtcVersion(int* major, int* minor);
TORCHPORT_NVRTC nvrtcResult nvrtcGetNumSupportedArchs(int* count);
TORCHPORT_NVRTC nvrtcResult nvrtcGetSupportedArchs(int* architectures);
TORCHPORT_NVRTC nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source,
                                               const char* name, int headerCount,
                                               const char* const* headers,
                                               const char* const* headerNames);
TORCHPORT_NVRTC nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program);
TORCHPORT_NVRTC nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                                const char* const* options);
TORCHPORT_NVRTC nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size);
TORCHPORT_NVRTC nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text);
TORCHPORT_NVRTC nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size);
TORCHPORT_NVRTC nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* text);
TORCHPORT_NVRTC nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram program, size_t* size);
TORCHPORT_NVRTC nvrtcResult nvrtcGetLTOIR(nvrtcProgram program, char* text);
TORCHPORT_NVRTC nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size);
TORCHPORT_NVRTC nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* text);
TORCHPORT_NVRTC nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression);
TORCHPORT_NVRTC nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression,
                                                const char** name);
