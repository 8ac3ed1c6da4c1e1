#pragma once
#include "crt/host_config.h"
