#include "project/diagnostic.h"
