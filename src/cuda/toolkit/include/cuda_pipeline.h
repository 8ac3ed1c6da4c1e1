// Copies to shared memory that are asynchronous on a GPU: here they are done when they return.
#pragma once

#include "cuda_pipeline_primitives.h"
