#pragma once

#include "device_types.h"
#include "vector_types.h"
#if __has_include("driver_types.h")
#include "driver_types.h"
#endif
#if __has_include("surface_types.h")
#include "surface_types.h"
#endif
#if __has_include("texture_types.h")
#include "texture_types.h"
#endif
