// Says whether the torch that is compiled against is a release or a later one. Only the headers
// named torch_releases.h use it: each layer has one, with all that differs between the releases
// that torchport is compiled for. Above each definition there stands in which header of torch a
// text came, or went:
//
//   // since 2.10: ATen/DeviceAccelerator.h has `getMemoryInfo(`
//   // before 2.10: ATen/core/CachingHostAllocator.h has `Stat segment;`
//   // since 2.11, in no header: a capture may ask for the seed
//
// `make check-releases` (deps/check_releases.py) holds these lines against the headers of every
// release, without a compiler.
#pragma once

#include <torch/version.h>

#define TORCHPORT_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||         \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
