// Atomic sums of half types.
#pragma once

#include "torchport/atomics.h"

TORCHPORT_ATOMIC(atomicAdd, __half, __hadd(old, value))
TORCHPORT_ATOMIC(atomicAdd, __half2, __hadd2(old, value))
