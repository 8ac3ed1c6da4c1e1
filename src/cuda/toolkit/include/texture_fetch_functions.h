#pragma once

#include "torchport/textures.h"
