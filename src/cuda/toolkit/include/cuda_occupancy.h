#pragma once

#include "torchport/runtime_templates.h"
