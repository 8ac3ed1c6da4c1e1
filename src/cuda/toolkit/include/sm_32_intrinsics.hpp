#pragma once
#include "sm_32_intrinsics.h"
