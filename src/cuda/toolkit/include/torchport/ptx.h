// What inline PTX becomes: `torchport nvcc` writes calls of these.
#pragma once

#include "ptx_arithmetic.h"
#include "ptx_barrier.h"
#include "ptx_bits.h"
#include "ptx_conversion.h"
#include "ptx_matrix.h"
#include "ptx_memory.h"
#include "ptx_types.h"
#include "ptx_video.h"
#include "ptx_warp.h"
