#pragma once
#include "torchport/kernel.h"
