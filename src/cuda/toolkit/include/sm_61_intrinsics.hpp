#pragma once
#include "sm_61_intrinsics.h"
