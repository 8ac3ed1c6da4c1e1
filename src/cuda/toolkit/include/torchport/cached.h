// Loads and stores with a cache's hint, which a host has no use for: __ldg and the like.
#pragma once

#include "bits.h"

namespace torchport {

template <class T>
__forceinline__ T load(const T* at) {
  return *at;
}
template <class T>
__forceinline__ T load_volatile(const T* at) {
  __asm__ volatile("" : : : "memory");
  return *at;
}

}  // namespace torchport

#define TORCHPORT_CACHED(T)                \
  __forceinline__ T __ldg(const T* p) {    \
    return torchport::load(p);             \
  }                                        \
  __forceinline__ T __ldcg(const T* p) {   \
    return torchport::load(p);             \
  }                                        \
  __forceinline__ T __ldca(const T* p) {   \
    return torchport::load(p);             \
  }                                        \
  __forceinline__ T __ldcs(const T* p) {   \
    return torchport::load(p);             \
  }                                        \
  __forceinline__ T __ldlu(const T* p) {   \
    return torchport::load(p);             \
  }                                        \
  __forceinline__ T __ldcv(const T* p) {   \
    return torchport::load_volatile(p);    \
  }                                        \
  __forceinline__ void __stwb(T* p, T v) { \
    *p = v;                                \
  }                                        \
  __forceinline__ void __stcg(T* p, T v) { \
    *p = v;                                \
  }                                        \
  __forceinline__ void __stcs(T* p, T v) { \
    *p = v;                                \
  }                                        \
  __forceinline__ void __stwt(T* p, T v) { \
    *p = v;                                \
  }
TORCHPORT_CACHED(char)
TORCHPORT_CACHED(signed char)
TORCHPORT_CACHED(unsigned char)
TORCHPORT_CACHED(short)
TORCHPORT_CACHED(unsigned short)
TORCHPORT_CACHED(int)
TORCHPORT_CACHED(unsigned int)
TORCHPORT_CACHED(long)
TORCHPORT_CACHED(unsigned long)
TORCHPORT_CACHED(long long)
TORCHPORT_CACHED(unsigned long long)
TORCHPORT_CACHED(float)
TORCHPORT_CACHED(double)
TORCHPORT_CACHED(char2)
TORCHPORT_CACHED(char4)
TORCHPORT_CACHED(uchar2)
TORCHPORT_CACHED(uchar4)
TORCHPORT_CACHED(short2)
TORCHPORT_CACHED(short4)
TORCHPORT_CACHED(ushort2)
TORCHPORT_CACHED(ushort4)
TORCHPORT_CACHED(int2)
TORCHPORT_CACHED(int4)
TORCHPORT_CACHED(uint2)
TORCHPORT_CACHED(uint4)
TORCHPORT_CACHED(longlong2)
TORCHPORT_CACHED(ulonglong2)
TORCHPORT_CACHED(float2)
TORCHPORT_CACHED(float4)
TORCHPORT_CACHED(double2)
// Where they are not undefined, cuda_fp16.h and cuda_bf16.h add their types by it.
