#pragma once
#include "../torchport/functions.h"
