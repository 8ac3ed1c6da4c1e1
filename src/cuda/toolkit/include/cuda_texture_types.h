#pragma once

#include "torchport/types/textures.h"
