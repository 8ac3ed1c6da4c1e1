// Reports: one file a format.
#pragma once
#include "project/diagnostic.h"
