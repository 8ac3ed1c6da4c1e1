// A file that a build of PyTorch for CUDA writes, and one for the CPU does not.
#pragma once

#define C10_CUDA_BUILD_SHARED_LIBS
