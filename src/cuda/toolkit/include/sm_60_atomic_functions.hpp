#pragma once
#include "sm_60_atomic_functions.h"
