// The functions of CUDA's runtime (reference manual of the CUDA toolkit 13.0).
#pragma once

#include "crt/host_defines.h"
#include "driver_functions.h"
#include "driver_types.h"

#define CUDART_VERSION 13000
#if defined(__cplusplus)
#define TORCHPORT_CUDART extern "C" __attribute__((visibility("default")))
#define TORCHPORT_DEFAULT(...) = __VA_ARGS__
#else
#define TORCHPORT_CUDART extern __attribute__((visibility("default")))
#define TORCHPORT_DEFAULT(...)
#endif
#define CUDART_CB

#include "torchport/api/devices.h"
#include "torchport/api/graphs.h"
#include "torchport/api/launches.h"
#include "torchport/api/memory.h"
#include "torchport/api/streams.h"
