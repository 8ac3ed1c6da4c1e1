#pragma once
#include "crt/common_functions.h"
