// What a compiler needs to know of its host: here it is the compiler itself.
#pragma once
#include "host_defines.h"
