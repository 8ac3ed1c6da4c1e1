#pragma once
#include "torchport_host.h"
