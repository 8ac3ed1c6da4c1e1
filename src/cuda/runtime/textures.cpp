// Textures and surfaces. Coordinates, weights and edges are those of the programming guide
// ("Texture Fetching") and of an H100 (program textures): weights have 8 bits, rounded to the
// nearest; a texture of one dimension is filtered as one of two whose second coordinate is 0.
#include "torchport/textures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"
#include "cuda/runtime/arrays.h"
#include "cuda/runtime/state.h"

namespace torchport::cuda {

namespace {

struct Texture {
  cudaResourceDesc resource{};
  cudaTextureDesc how{};
  cudaChannelFormatDesc format{};
  const char* data = nullptr;
  std::size_t element = 0;
  std::size_t pitch = 0;
  long width = 0;
  long height = 1;
  long depth = 1;
};

const Texture& texture_of(cudaTextureObject_t object) {
  return *reinterpret_cast<const Texture*>(static_cast<std::uintptr_t>(object));
}

float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = 0;
  if (exponent == 31)
    value = fraction != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(fraction), -24);
  else
    value = std::ldexp(static_cast<float>(fraction | 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

Texel read(const Texture& texture, const char* at) {
  Texel texel{};
  const std::array<int, 4> bits{texture.format.x, texture.format.y, texture.format.z,
                                texture.format.w};
  const bool is_float = texture.format.f == cudaChannelFormatKindFloat;
  const bool is_signed = texture.format.f == cudaChannelFormatKindSigned;
  const bool normalized = !is_float && texture.how.readMode == cudaReadModeNormalizedFloat;
  texel.is_float = is_float || normalized;
  for (std::size_t i = 0; i < bits.size() && bits[i] > 0; ++i) {
    const auto bytes = static_cast<std::size_t>(bits[i] / 8);
    std::uint32_t raw = 0;
    std::memcpy(&raw, at, bytes);
    at += bytes;
    if (is_float) {
      if (bytes == 2)
        texel.floats[i] = half_to_float(static_cast<std::uint16_t>(raw));
      else
        std::memcpy(&texel.floats[i], &raw, sizeof(float));
      continue;
    }
    int value = static_cast<int>(raw);
    if (is_signed && bytes == 1) value = int{static_cast<std::int8_t>(raw)};
    if (is_signed && bytes == 2) value = static_cast<short>(raw);
    texel.words[i] = value;
    const double most = std::ldexp(1.0, bits[i] - (is_signed ? 1 : 0)) - 1;
    if (normalized) texel.floats[i] = static_cast<float>(std::max(value / most, -1.0));
  }
  return texel;
}

// The number of a texel by the address mode; -1 for the border.
long index_of(long index, long size, cudaTextureAddressMode mode, bool normalized) {
  if (!normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
    mode = cudaAddressModeClamp;
  switch (mode) {
    case cudaAddressModeWrap:
      return (index % size + size) % size;
    case cudaAddressModeMirror: {
      const long period = 2 * size;
      const long at = (index % period + period) % period;
      return at < size ? at : period - 1 - at;
    }
    case cudaAddressModeBorder:
      return index < 0 || index >= size ? -1 : index;
    default:
      return std::clamp(index, 0L, size - 1);
  }
}

// A coordinate in texels, in a range where it can be counted.
double in_texels(float coordinate, long size, cudaTextureAddressMode mode, bool normalized) {
  double x = static_cast<double>(coordinate);
  const bool repeats = normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror);
  if (std::isnan(x) || (repeats && std::isinf(x))) return 0;
  if (normalized) x = static_cast<double>(coordinate * static_cast<float>(size));
  if (repeats) return std::fmod(x, 2.0 * static_cast<double>(size));
  constexpr double kFar = 1e9;
  return std::clamp(x, -kFar, kFar);
}

struct Axis {
  long first = 0;  // texels; -1: the border
  long second = 0;
  long weight = 0;  // of the second, of 256
};
constexpr long kSteps = 256;

// A part of a weight, rounded.
long part_of(long weight, long of) {
  return (weight * of + kSteps / 2) / kSteps;
}

Axis axis_of(const Texture& texture, int which, float coordinate, long size, bool linear) {
  const auto mode = texture.how.addressMode[which];
  const bool normalized = texture.how.normalizedCoords != 0;
  const double x = in_texels(coordinate, size, mode, normalized);
  if (!linear) {
    const long at = index_of(static_cast<long>(std::floor(x)), size, mode, normalized);
    return {at, at, 0};
  }
  const long fixed = static_cast<long>(std::floor((x - 0.5) * kSteps + 0.5));
  const long first = fixed >= 0 ? fixed / kSteps : -((kSteps - 1 - fixed) / kSteps);
  return {index_of(first, size, mode, normalized), index_of(first + 1, size, mode, normalized),
          fixed - first * kSteps};
}

Texel texel_at(const Texture& texture, long x, long y, long z) {
  if (x < 0 || y < 0 || z < 0) {
    Texel border{};
    border.is_float = texture.format.f == cudaChannelFormatKindFloat ||
                      texture.how.readMode == cudaReadModeNormalizedFloat;
    for (std::size_t i = 0; i < 4; ++i) {
      border.floats[i] = texture.how.borderColor[i];
      border.words[i] = static_cast<int>(texture.how.borderColor[i]);
    }
    return border;
  }
  const auto row = static_cast<std::size_t>(z * texture.height + y);
  return read(texture,
              texture.data + row * texture.pitch + static_cast<std::size_t>(x) * texture.element);
}

bool describe_resource(Texture& texture) {
  const cudaResourceDesc& r = texture.resource;
  const cudaArray* array = nullptr;
  switch (r.resType) {
    case cudaResourceTypeArray:
      array = r.res.array.array;
      break;
    case cudaResourceTypeMipmappedArray:
      if (r.res.mipmap.mipmap == nullptr) return false;
      array = r.res.mipmap.mipmap->levels.front();
      break;
    case cudaResourceTypeLinear:
      texture.format = r.res.linear.desc;
      texture.element = bytes_of_format(texture.format);
      texture.data = static_cast<const char*>(r.res.linear.devPtr);
      if (texture.element == 0 || texture.data == nullptr) return false;
      texture.width = static_cast<long>(r.res.linear.sizeInBytes / texture.element);
      return true;
    case cudaResourceTypePitch2D:
      texture.format = r.res.pitch2D.desc;
      texture.element = bytes_of_format(texture.format);
      texture.data = static_cast<const char*>(r.res.pitch2D.devPtr);
      texture.width = static_cast<long>(r.res.pitch2D.width);
      texture.height = static_cast<long>(r.res.pitch2D.height);
      texture.pitch = r.res.pitch2D.pitchInBytes;
      return texture.element != 0 && texture.data != nullptr && texture.width > 0 &&
             texture.height > 0;
    default:
      return false;
  }
  if (!is_array(array)) return false;
  texture.format = array->format;
  texture.element = array->element;
  texture.data = array->data;
  texture.width = static_cast<long>(array->extent.width);
  texture.height = static_cast<long>(array->rows());
  texture.depth = static_cast<long>(array->slices());
  texture.pitch = array->width_bytes();
  return true;
}

}  // namespace

Texel fetch(cudaTextureObject_t object, int index) {
  const Texture& texture = texture_of(object);
  if (index < 0 || index >= texture.width) {
    Texel none{};
    none.is_float = texture.format.f == cudaChannelFormatKindFloat ||
                    texture.how.readMode == cudaReadModeNormalizedFloat;
    return none;
  }
  return read(texture, texture.data + static_cast<std::size_t>(index) * texture.element);
}

Texel sample(cudaTextureObject_t object, int dimensions, float x, float y, float z, int layer) {
  const Texture& texture = texture_of(object);
  const bool linear = texture.how.filterMode == cudaFilterModeLinear;
  const Axis ax = axis_of(texture, 0, x, texture.width, linear);
  const Axis ay = axis_of(texture, 1, dimensions > 1 ? y : 0, texture.height, linear);
  Axis az{};
  if (dimensions > 2) az = axis_of(texture, 2, z, texture.depth, linear);
  if (layer >= 0) {
    const long at = std::clamp<long>(layer, 0, texture.depth - 1);
    az = {at, at, 0};
  }
  if (!linear) return texel_at(texture, ax.first, ay.first, az.first);
  // The weights of eight texels are whole numbers again: those of pairs of axes are rounded, and
  // what is left is the weight of the nearer texels.
  const long a = ax.weight;
  const long b = ay.weight;
  const long c = az.weight;
  const long ab = part_of(a, b);
  const long ac = part_of(a, c);
  const long bc = part_of(b, c);
  const long abc = part_of(bc, a);
  const std::array<long, 8> weights{kSteps - a - b - c + ab + ac + bc - abc,
                                    a - ab - ac + abc,
                                    b - ab - bc + abc,
                                    ab - abc,
                                    c - ac - bc + abc,
                                    ac - abc,
                                    bc - abc,
                                    abc};
  std::array<double, 4> sum{};
  Texel texel{};
  for (std::size_t corner = 0; corner < weights.size(); ++corner) {
    if (weights[corner] == 0) continue;
    texel = texel_at(texture, (corner & 1U) != 0 ? ax.second : ax.first,
                     (corner & 2U) != 0 ? ay.second : ay.first,
                     (corner & 4U) != 0 ? az.second : az.first);
    for (std::size_t i = 0; i < 4; ++i)
      sum[i] +=
          static_cast<double>(weights[corner]) / kSteps * static_cast<double>(texel.floats[i]);
  }
  // Bytes as floats are filtered to 16 bits.
  constexpr double kMost = 65535;
  const bool in_16_bits =
      texture.format.f == cudaChannelFormatKindUnsigned && texture.format.x == 8;
  for (std::size_t i = 0; i < 4; ++i)
    texel.floats[i] =
        static_cast<float>(in_16_bits ? std::floor(sum[i] * kMost + 0.5) / kMost : sum[i]);
  return texel;
}

void gather(cudaTextureObject_t object, float x, float y, int channel, Texel (&four)[4]) {
  const Texture& texture = texture_of(object);
  const Axis ax = axis_of(texture, 0, x, texture.width, true);
  const Axis ay = axis_of(texture, 1, y, texture.height, true);
  four[0] = texel_at(texture, ax.first, ay.second, 0);
  four[1] = texel_at(texture, ax.second, ay.second, 0);
  four[2] = texel_at(texture, ax.second, ay.first, 0);
  four[3] = texel_at(texture, ax.first, ay.first, 0);
  for (Texel& one : four) {
    one.floats[0] = one.floats[channel & 3];
    one.words[0] = one.words[channel & 3];
  }
}

void* surface_address(cudaSurfaceObject_t surface, int x, int y, int z, unsigned bytes,
                      cudaSurfaceBoundaryMode mode) {
  const Texture& texture = texture_of(surface);
  const auto row_bytes =
      static_cast<long>(static_cast<std::size_t>(texture.width) * texture.element);
  const bool inside = x >= 0 && x + static_cast<long>(bytes) <= row_bytes && y >= 0 &&
                      y < texture.height && z >= 0 && z < texture.depth;
  long at_x = x;
  long at_y = y;
  long at_z = z;
  if (!inside) {
    if (mode == cudaBoundaryModeZero) return nullptr;
    if (mode != cudaBoundaryModeClamp)
      if (Block* block = Block::current())
        block->fail(kLaunchFailure,
                    "an access outside of a surface, whose mode is cudaBoundaryModeTrap");
    at_x = std::clamp<long>(x, 0, row_bytes - static_cast<long>(bytes));
    at_y = std::clamp<long>(y, 0, texture.height - 1);
    at_z = std::clamp<long>(z, 0, texture.depth - 1);
  }
  return const_cast<char*>(texture.data) +
         static_cast<std::size_t>(at_z * texture.height + at_y) * texture.pitch +
         static_cast<std::size_t>(at_x);
}

}  // namespace torchport::cuda

using namespace torchport::cuda;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc*) {
  if (object == nullptr || resource == nullptr || texture == nullptr)
    return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  auto made = std::make_unique<Texture>();
  made->resource = *resource;
  made->how = *texture;
  if (!describe_resource(*made)) return told(cudaErrorInvalidValue);
  const bool is_float = made->format.f == cudaChannelFormatKindFloat;
  if (texture->filterMode == cudaFilterModeLinear && !is_float &&
      texture->readMode != cudaReadModeNormalizedFloat)
    return told(cudaErrorInvalidFilterSetting);
  *object = static_cast<cudaTextureObject_t>(reinterpret_cast<std::uintptr_t>(made.release()));
  return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  delete reinterpret_cast<Texture*>(static_cast<std::uintptr_t>(object));
  return told(use_device());
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t object) {
  if (resource == nullptr || object == 0) return told(cudaErrorInvalidValue);
  *resource = texture_of(object).resource;
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  if (texture == nullptr || object == 0) return told(cudaErrorInvalidValue);
  *texture = texture_of(object).how;
  return cudaSuccess;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  if (object == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray)
    return told(cudaErrorInvalidValue);
  const cudaTextureDesc none{};
  return cudaCreateTextureObject(object, resource, &none, nullptr);
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return cudaDestroyTextureObject(object);
}
