// To which memory an address belongs: __isGlobal and its kin, and the conversions of addresses,
// which have nothing to do where all memory is the host's.
#pragma once

#include "torchport/kernel.h"

namespace torchport::cuda {

enum class Space : unsigned char { kGlobal, kShared, kConstant, kLocal };
TORCHPORT_CUDA_API Space space_of(const void* address);

}  // namespace torchport::cuda

inline unsigned int __isGlobal(const void* data) {
  return torchport::cuda::space_of(data) == torchport::cuda::Space::kGlobal ? 1 : 0;
}
inline unsigned int __isShared(const void* data) {
  return torchport::cuda::space_of(data) == torchport::cuda::Space::kShared ? 1 : 0;
}
// A cluster is one block.
inline unsigned int __isClusterShared(const void* data) {
  return __isShared(data);
}
inline unsigned int __isConstant(const void* data) {
  return torchport::cuda::space_of(data) == torchport::cuda::Space::kConstant ? 1 : 0;
}
inline unsigned int __isLocal(const void* data) {
  return torchport::cuda::space_of(data) == torchport::cuda::Space::kLocal ? 1 : 0;
}
inline unsigned int __isGridConstant(const void* /*data*/) {
  return 0;
}
