#pragma once
#include "sm_30_intrinsics.h"
