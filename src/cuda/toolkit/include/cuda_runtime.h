// What nvcc includes before each file: the language and the runtime.
#pragma once

#include "builtin_types.h"
#include "crt/host_defines.h"
#include "cuda_runtime_api.h"
#include "torchport/address_spaces.h"
#include "torchport/atomics.h"
#include "torchport/block_functions.h"
#include "torchport/functions.h"
#include "torchport/kernel.h"
#include "torchport/left_values.h"
#include "torchport/printing.h"
#include "torchport/ptx.h"
#include "torchport/runtime_templates.h"
#include "torchport/textures.h"
#include "torchport/warp_functions.h"
#include "vector_functions.h"
#include "vector_types.h"
