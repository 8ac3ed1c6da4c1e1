// Cooperative groups. Source: CUDA C++ programming guide, "Cooperative Groups". The parts of a warp
// wait for each other by the mask of their lanes; a block and a grid by their barriers.
#pragma once

#include "torchport/groups.h"
