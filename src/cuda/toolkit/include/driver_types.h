// The types of CUDA's runtime.
#pragma once

#include "crt/host_defines.h"
#include "torchport/types/attributes.h"
#include "torchport/types/devices.h"
#include "torchport/types/errors.h"
#include "torchport/types/memory.h"
#include "torchport/types/streams.h"
#include "torchport/types/textures.h"
#include "vector_types.h"
