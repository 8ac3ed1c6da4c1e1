// Textures and surfaces in kernels: the functions on objects. Layers lie behind each other in an
// array's depth. References (`texture<...>`) are gone since CUDA 12; cubemaps are refused by their
// names.
#pragma once

#include <type_traits>

#include "channel_descriptor.h"
#include "torchport/kernel.h"

namespace torchport::cuda {

// One texel: integers as they are, or floats.
struct Texel {
  float floats[4];
  int words[4];
  bool is_float;
};

TORCHPORT_CUDA_API Texel fetch(cudaTextureObject_t texture, int index);
// `layer` -1: the texture has none.
TORCHPORT_CUDA_API Texel sample(cudaTextureObject_t texture, int dimensions, float x, float y,
                                float z, int layer);
TORCHPORT_CUDA_API void gather(cudaTextureObject_t texture, float x, float y, int channel,
                               Texel (&four)[4]);
// Where `bytes` bytes at (x bytes, y, z) of a surface lie; null: nowhere, by the mode.
TORCHPORT_CUDA_API void* surface_address(cudaSurfaceObject_t surface, int x, int y, int z,
                                         unsigned bytes, cudaSurfaceBoundaryMode mode);

template <class T, class Channel>
T texel_of(const Channel (&channels)[4]) {
  using Out = std::remove_cv_t<T>;
  if constexpr (std::is_arithmetic_v<Out>) {
    return static_cast<Out>(channels[0]);
  } else {
    constexpr int kCount = TorchportTexel<Out>::kChannels;
    Out value{};
    using Part = std::decay_t<decltype(value.x)>;
    value.x = static_cast<Part>(channels[0]);
    if constexpr (kCount > 1) value.y = static_cast<Part>(channels[1]);
    if constexpr (kCount > 2) {
      value.z = static_cast<Part>(channels[2]);
      value.w = static_cast<Part>(channels[3]);
    }
    return value;
  }
}
template <class T>
T read_texel(const Texel& texel) {
  return texel.is_float ? texel_of<T>(texel.floats) : texel_of<T>(texel.words);
}

}  // namespace torchport::cuda

template <class T>
inline T tex1Dfetch(cudaTextureObject_t t, int x) {
  return torchport::cuda::read_texel<T>(torchport::cuda::fetch(t, x));
}
template <class T>
inline void tex1Dfetch(T* to, cudaTextureObject_t t, int x) {
  *to = tex1Dfetch<T>(t, x);
}

// Both forms of a function: one returns the value, one stores it. Those with a level or gradients
// read level 0, which is the only one of a texture that is not mipmapped.
#define TORCHPORT_TEXTURE(NAME, PARAMETERS, DIMENSIONS, X, Y, Z, LAYER)                            \
  template <class T>                                                                               \
  inline T NAME PARAMETERS {                                                                       \
    return torchport::cuda::read_texel<T>(torchport::cuda::sample(t, DIMENSIONS, X, Y, Z, LAYER)); \
  }
TORCHPORT_TEXTURE(tex1D, (cudaTextureObject_t t, float x), 1, x, 0.0F, 0.0F, -1)
TORCHPORT_TEXTURE(tex2D, (cudaTextureObject_t t, float x, float y), 2, x, y, 0.0F, -1)
TORCHPORT_TEXTURE(tex3D, (cudaTextureObject_t t, float x, float y, float z), 3, x, y, z, -1)
TORCHPORT_TEXTURE(tex1DLayered, (cudaTextureObject_t t, float x, int layer), 1, x, 0.0F, 0.0F,
                  layer)
TORCHPORT_TEXTURE(tex2DLayered, (cudaTextureObject_t t, float x, float y, int layer), 2, x, y, 0.0F,
                  layer)
TORCHPORT_TEXTURE(tex1DLod, (cudaTextureObject_t t, float x, float), 1, x, 0.0F, 0.0F, -1)
TORCHPORT_TEXTURE(tex2DLod, (cudaTextureObject_t t, float x, float y, float), 2, x, y, 0.0F, -1)
TORCHPORT_TEXTURE(tex3DLod, (cudaTextureObject_t t, float x, float y, float z, float), 3, x, y, z,
                  -1)
TORCHPORT_TEXTURE(tex1DGrad, (cudaTextureObject_t t, float x, float, float), 1, x, 0.0F, 0.0F, -1)
TORCHPORT_TEXTURE(tex2DGrad, (cudaTextureObject_t t, float x, float y, float2, float2), 2, x, y,
                  0.0F, -1)
TORCHPORT_TEXTURE(tex3DGrad, (cudaTextureObject_t t, float x, float y, float z, float4, float4), 3,
                  x, y, z, -1)
#undef TORCHPORT_TEXTURE
template <class T>
inline void tex1D(T* to, cudaTextureObject_t t, float x) {
  *to = tex1D<T>(t, x);
}
template <class T>
inline void tex2D(T* to, cudaTextureObject_t t, float x, float y) {
  *to = tex2D<T>(t, x, y);
}
template <class T>
inline void tex3D(T* to, cudaTextureObject_t t, float x, float y, float z) {
  *to = tex3D<T>(t, x, y, z);
}

template <class T>
inline T tex2Dgather(cudaTextureObject_t t, float x, float y, int channel = 0) {
  torchport::cuda::Texel four[4];
  torchport::cuda::gather(t, x, y, channel, four);
  if (four[0].is_float) {
    const float all[4] = {four[0].floats[0], four[1].floats[0], four[2].floats[0],
                          four[3].floats[0]};
    return torchport::cuda::texel_of<T>(all);
  }
  const int all[4] = {four[0].words[0], four[1].words[0], four[2].words[0], four[3].words[0]};
  return torchport::cuda::texel_of<T>(all);
}

// ---- surfaces: x counts bytes ----

namespace torchport::cuda {

template <class T>
T surface_read(cudaSurfaceObject_t s, int x, int y, int z, cudaSurfaceBoundaryMode mode) {
  T value{};
  if (const void* at = surface_address(s, x, y, z, sizeof(T), mode))
    std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void surface_write(const T& value, cudaSurfaceObject_t s, int x, int y, int z,
                   cudaSurfaceBoundaryMode mode) {
  if (void* at = surface_address(s, x, y, z, sizeof(T), mode)) std::memcpy(at, &value, sizeof(T));
}

}  // namespace torchport::cuda

#define TORCHPORT_SURFACE_OF(NAME, FIRST, SECOND, X, Y, Z)                       \
  template <class T>                                                             \
  inline T NAME##read(cudaSurfaceObject_t s, int x FIRST SECOND,                 \
                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {     \
    return torchport::cuda::surface_read<T>(s, X, Y, Z, mode);                   \
  }                                                                              \
  template <class T>                                                             \
  inline void NAME##read(T* to, cudaSurfaceObject_t s, int x FIRST SECOND,       \
                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {  \
    *to = torchport::cuda::surface_read<T>(s, X, Y, Z, mode);                    \
  }                                                                              \
  template <class T>                                                             \
  inline void NAME##write(T value, cudaSurfaceObject_t s, int x FIRST SECOND,    \
                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    torchport::cuda::surface_write(value, s, X, Y, Z, mode);                     \
  }
#define TORCHPORT_Y , int y
#define TORCHPORT_Z , int z
#define TORCHPORT_NONE
TORCHPORT_SURFACE_OF(surf1D, TORCHPORT_NONE, TORCHPORT_NONE, x, 0, 0)
TORCHPORT_SURFACE_OF(surf2D, TORCHPORT_Y, TORCHPORT_NONE, x, y, 0)
TORCHPORT_SURFACE_OF(surf3D, TORCHPORT_Y, TORCHPORT_Z, x, y, z)
TORCHPORT_SURFACE_OF(surf2DLayered, TORCHPORT_Y, TORCHPORT_Z, x, y, z)
#undef TORCHPORT_SURFACE_OF
#undef TORCHPORT_Y
#undef TORCHPORT_Z
#undef TORCHPORT_NONE
