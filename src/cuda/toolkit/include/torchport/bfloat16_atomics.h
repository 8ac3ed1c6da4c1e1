// Atomic sums of bfloat16 types.
#pragma once

#include "torchport/atomics.h"

TORCHPORT_ATOMIC(atomicAdd, __nv_bfloat16, __hadd(old, value))
TORCHPORT_ATOMIC(atomicAdd, __nv_bfloat162, __hadd2(old, value))
