// The formats of texels by their types.
#pragma once

#include "cuda_runtime_api.h"
#include "vector_types.h"

template <class T>
struct TorchportTexel {
  static constexpr int kChannels = 0;
};
#define TORCHPORT_TEXEL(T, BITS, COUNT, KIND)                                   \
  template <>                                                                   \
  struct TorchportTexel<T> {                                                    \
    static constexpr int kBits = BITS;                                          \
    static constexpr int kChannels = COUNT;                                     \
    static constexpr cudaChannelFormatKind kKind = cudaChannelFormatKind##KIND; \
  };
#define TORCHPORT_TEXELS(NAME, BITS, KIND) \
  TORCHPORT_TEXEL(NAME##1, BITS, 1, KIND)  \
  TORCHPORT_TEXEL(NAME##2, BITS, 2, KIND)  \
  TORCHPORT_TEXEL(NAME##4, BITS, 4, KIND)
TORCHPORT_TEXEL(char, 8, 1, Signed)
TORCHPORT_TEXEL(signed char, 8, 1, Signed)
TORCHPORT_TEXEL(unsigned char, 8, 1, Unsigned)
TORCHPORT_TEXEL(short, 16, 1, Signed)
TORCHPORT_TEXEL(unsigned short, 16, 1, Unsigned)
TORCHPORT_TEXEL(int, 32, 1, Signed)
TORCHPORT_TEXEL(unsigned int, 32, 1, Unsigned)
TORCHPORT_TEXEL(float, 32, 1, Float)
TORCHPORT_TEXELS(char, 8, Signed)
TORCHPORT_TEXELS(uchar, 8, Unsigned)
TORCHPORT_TEXELS(short, 16, Signed)
TORCHPORT_TEXELS(ushort, 16, Unsigned)
TORCHPORT_TEXELS(int, 32, Signed)
TORCHPORT_TEXELS(uint, 32, Unsigned)
TORCHPORT_TEXELS(float, 32, Float)
#undef TORCHPORT_TEXELS
#undef TORCHPORT_TEXEL

template <class T>
inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  if constexpr (TorchportTexel<T>::kChannels == 0) {
    return {0, 0, 0, 0, cudaChannelFormatKindNone};
  } else {
    constexpr int kBits = TorchportTexel<T>::kBits;
    constexpr int kCount = TorchportTexel<T>::kChannels;
    return {kBits, kCount > 1 ? kBits : 0, kCount > 2 ? kBits : 0, kCount > 3 ? kBits : 0,
            TorchportTexel<T>::kKind};
  }
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf() {
  return {16, 0, 0, 0, cudaChannelFormatKindFloat};
}
