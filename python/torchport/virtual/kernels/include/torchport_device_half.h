// at::Half and at::BFloat16 as code for torch.cuda.jiterator has them: they convert from and to float,
// and computing is done in float. And std::complex<at::Half>, of two of them.
#pragma once

#include "torchport_device_complex.h"
#include "torchport_device_math.h"

namespace torchport_device {

// Rounds to nearest, ties to even. Subnormal results come from an addition that shifts the bits out.
inline unsigned short half_of(float value) {
  const unsigned bits = same_bits<unsigned>(value);
  const unsigned sign = (bits >> 16) & 0x8000U;
  const unsigned size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return static_cast<unsigned short>(sign | 0x7e00U);   // NaN
  if (size >= 0x477ff000U) return static_cast<unsigned short>(sign | 0x7c00U);  // from 65,520 on
  if (size < 0x38800000U) {
    const float shifted = same_bits<float>(size) + 0.5F;  // the step of 0.5 is the smallest half
    return static_cast<unsigned short>(sign | (same_bits<unsigned>(shifted) - 0x3f000000U));
  }
  const unsigned rounded = size + 0xfffU + ((size >> 13) & 1U);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000U) >> 13));
}
inline float of_half(unsigned short half) {
  const unsigned sign = (half & 0x8000U) << 16;
  const unsigned size = half & 0x7fffU;
  if (size >= 0x7c00U) return same_bits<float>(sign | 0x7f800000U | ((size & 0x3ffU) << 13));
  if (size >= 0x400U) return same_bits<float>(sign | ((size << 13) + 0x38000000U));
  return copysignf(static_cast<float>(size) * 0x1p-24F, same_bits<float>(sign | 0x3f800000U));
}
inline unsigned short bfloat16_of(float value) {
  const unsigned bits = same_bits<unsigned>(value);
  if (value != value) return 0x7fffU;
  return static_cast<unsigned short>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace torchport_device

namespace at {

struct alignas(2) Half {
  unsigned short x;
  Half() = default;
  Half(float value) : x(torchport_device::half_of(value)) {}
  operator float() const { return torchport_device::of_half(x); }
};
struct alignas(2) BFloat16 {
  unsigned short x;
  BFloat16() = default;
  BFloat16(float value) : x(torchport_device::bfloat16_of(value)) {}
  operator float() const {
    return torchport_device::same_bits<float>(static_cast<unsigned>(x) << 16);
  }
};

}  // namespace at

namespace std {

template <>
class alignas(4) complex<at::Half> {
 public:
  complex() = default;
  complex(const complex<float>& z) : re_(z.real()), im_(z.imag()) {}
  operator complex<float>() const { return complex<float>(re_, im_); }
  at::Half real() const { return re_; }
  at::Half imag() const { return im_; }

 private:
  at::Half re_, im_;
};

}  // namespace std
