#pragma once
#include "torchport/atomics.h"
