// Asks which release of torch this is compiled for.
//
// Interfaces of C++ that a release lacks cannot be looked up at run time: then a line asks here.
// Operators and names of Python can, and they are: see operators/attention_flash.cpp and the files
// since_*.py and until_*.py of python/torchport/virtual/torch_c_shim.
#pragma once

#include <torch/version.h>

#define TORCHPORT_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||         \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
