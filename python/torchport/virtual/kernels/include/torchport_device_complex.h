// std::complex as code for torch.cuda.jiterator has it, which differs from that of the host's library:
// it converts to bool (whether it is not zero), also implicitly, and takes part in && and ||. So this
// takes the place of <complex>, which must not be included beside it. The functions are those of the
// C library, with its rules for infinities and NaN (C99, Annex G).
#pragma once

#define _GLIBCXX_COMPLEX 1  // what <complex> defines; a header that includes it gets nothing

#include <math.h>

#include <type_traits>

namespace torchport_device {

// The functions of the C library by the type of their argument.
#define TORCHPORT_C_FUNCTION(name)                                                        \
  inline __complex__ float c_##name(__complex__ float z) { return __builtin_c##name##f(z); } \
  inline __complex__ double c_##name(__complex__ double z) { return __builtin_c##name(z); }
TORCHPORT_C_FUNCTION(exp)
TORCHPORT_C_FUNCTION(log)
TORCHPORT_C_FUNCTION(sqrt)
TORCHPORT_C_FUNCTION(sin)
TORCHPORT_C_FUNCTION(cos)
TORCHPORT_C_FUNCTION(tan)
TORCHPORT_C_FUNCTION(sinh)
TORCHPORT_C_FUNCTION(cosh)
TORCHPORT_C_FUNCTION(tanh)
TORCHPORT_C_FUNCTION(asin)
TORCHPORT_C_FUNCTION(acos)
TORCHPORT_C_FUNCTION(atan)
TORCHPORT_C_FUNCTION(asinh)
TORCHPORT_C_FUNCTION(acosh)
TORCHPORT_C_FUNCTION(atanh)
TORCHPORT_C_FUNCTION(proj)
#undef TORCHPORT_C_FUNCTION
inline __complex__ float c_pow(__complex__ float z, __complex__ float w) {
  return __builtin_cpowf(z, w);
}
inline __complex__ double c_pow(__complex__ double z, __complex__ double w) {
  return __builtin_cpow(z, w);
}

}  // namespace torchport_device

namespace std {

template <class T>
class complex {
 public:
  typedef T value_type;
  constexpr complex(T re = T(), T im = T()) : re_(re), im_(im) {}
  // float from double is explicit, as there.
  template <class U, enable_if_t<(sizeof(U) < sizeof(T)), int> = 0>
  constexpr complex(const complex<U>& z) : re_(z.real()), im_(z.imag()) {}
  template <class U, enable_if_t<(sizeof(U) > sizeof(T)), int> = 0>
  explicit constexpr complex(const complex<U>& z)
      : re_(static_cast<T>(z.real())), im_(static_cast<T>(z.imag())) {}

  constexpr T real() const { return re_; }
  constexpr T imag() const { return im_; }
  void real(T re) { re_ = re; }
  void imag(T im) { im_ = im; }
  constexpr operator bool() const { return re_ != 0 || im_ != 0; }

  complex& operator=(T re) { return *this = complex(re); }
  complex& operator+=(T re) { return *this = complex(re_ + re, im_); }
  complex& operator-=(T re) { return *this = complex(re_ - re, im_); }
  complex& operator*=(T re) { return *this = complex(re_ * re, im_ * re); }
  complex& operator/=(T re) { return *this = complex(re_ / re, im_ / re); }
  template <class U>
  complex& operator=(const complex<U>& z) {
    return *this = of(z);
  }
  template <class U>
  complex& operator+=(const complex<U>& z) {
    return *this = *this + of(z);
  }
  template <class U>
  complex& operator-=(const complex<U>& z) {
    return *this = *this - of(z);
  }
  template <class U>
  complex& operator*=(const complex<U>& z) {
    return *this = *this * of(z);
  }
  template <class U>
  complex& operator/=(const complex<U>& z) {
    return *this = *this / of(z);
  }

 private:
  template <class U>
  static complex of(const complex<U>& z) {
    return complex(static_cast<T>(z.real()), static_cast<T>(z.imag()));
  }

  T re_, im_;
};

}  // namespace std

namespace torchport_device {

#define TORCHPORT_CONVERSIONS(T)                          \
  inline __complex__ T c_of(const std::complex<T>& z) {   \
    __complex__ T result;                                 \
    __real__ result = z.real();                           \
    __imag__ result = z.imag();                           \
    return result;                                        \
  }                                                       \
  inline std::complex<T> from_c(__complex__ T z) {        \
    return std::complex<T>(__real__ z, __imag__ z);       \
  }
TORCHPORT_CONVERSIONS(float)
TORCHPORT_CONVERSIONS(double)
#undef TORCHPORT_CONVERSIONS

}  // namespace torchport_device

namespace std {

template <class T>
inline complex<T> operator+(const complex<T>& z) {
  return z;
}
template <class T>
inline complex<T> operator-(const complex<T>& z) {
  return complex<T>(-z.real(), -z.imag());
}
template <class T>
inline complex<T> operator+(const complex<T>& z, const complex<T>& w) {
  return complex<T>(z.real() + w.real(), z.imag() + w.imag());
}
template <class T>
inline complex<T> operator-(const complex<T>& z, const complex<T>& w) {
  return complex<T>(z.real() - w.real(), z.imag() - w.imag());
}
template <class T>
inline complex<T> operator*(const complex<T>& z, const complex<T>& w) {
  return torchport_device::from_c(torchport_device::c_of(z) * torchport_device::c_of(w));
}
template <class T>
inline complex<T> operator/(const complex<T>& z, const complex<T>& w) {
  return torchport_device::from_c(torchport_device::c_of(z) / torchport_device::c_of(w));
}
template <class T>
inline complex<T> operator+(const complex<T>& z, const T& x) {
  return complex<T>(z.real() + x, z.imag());
}
template <class T>
inline complex<T> operator+(const T& x, const complex<T>& z) {
  return complex<T>(x + z.real(), z.imag());
}
template <class T>
inline complex<T> operator-(const complex<T>& z, const T& x) {
  return complex<T>(z.real() - x, z.imag());
}
template <class T>
inline complex<T> operator-(const T& x, const complex<T>& z) {
  return complex<T>(x - z.real(), -z.imag());
}
template <class T>
inline complex<T> operator*(const complex<T>& z, const T& x) {
  return complex<T>(z.real() * x, z.imag() * x);
}
template <class T>
inline complex<T> operator*(const T& x, const complex<T>& z) {
  return complex<T>(x * z.real(), x * z.imag());
}
template <class T>
inline complex<T> operator/(const complex<T>& z, const T& x) {
  return complex<T>(z.real() / x, z.imag() / x);
}
template <class T>
inline complex<T> operator/(const T& x, const complex<T>& z) {
  return complex<T>(x) / z;
}
template <class T>
inline constexpr bool operator==(const complex<T>& z, const complex<T>& w) {
  return z.real() == w.real() && z.imag() == w.imag();
}
template <class T>
inline constexpr bool operator==(const complex<T>& z, const T& x) {
  return z.real() == x && z.imag() == 0;
}
template <class T>
inline constexpr bool operator==(const T& x, const complex<T>& z) {
  return z == x;
}
template <class T>
inline constexpr bool operator!=(const complex<T>& z, const complex<T>& w) {
  return !(z == w);
}
template <class T>
inline constexpr bool operator!=(const complex<T>& z, const T& x) {
  return !(z == x);
}
template <class T>
inline constexpr bool operator!=(const T& x, const complex<T>& z) {
  return !(z == x);
}
template <class T>
inline constexpr bool operator&&(const complex<T>& z, const complex<T>& w) {
  return bool(z) && bool(w);
}
template <class T>
inline constexpr bool operator||(const complex<T>& z, const complex<T>& w) {
  return bool(z) || bool(w);
}

template <class T>
inline constexpr bool isnan(const complex<T>& z) {
  return z.real() != z.real() || z.imag() != z.imag();
}
template <class T>
inline constexpr T real(const complex<T>& z) {
  return z.real();
}
template <class T>
inline constexpr T imag(const complex<T>& z) {
  return z.imag();
}
template <class T>
inline T abs(const complex<T>& z) {
  return hypot(z.real(), z.imag());
}
template <class T>
inline T arg(const complex<T>& z) {
  return atan2(z.imag(), z.real());
}
template <class T>
inline T norm(const complex<T>& z) {
  return isinf(z.real())   ? fabs(z.real())
         : isinf(z.imag()) ? fabs(z.imag())
                           : z.real() * z.real() + z.imag() * z.imag();
}
template <class T>
inline complex<T> conj(const complex<T>& z) {
  return complex<T>(z.real(), -z.imag());
}
template <class T>
inline complex<T> polar(const T& length, const T& angle = T()) {
  return complex<T>(length * cos(angle), length * sin(angle));
}

// The same functions of a real number: of an integer they compute in double.
#define TORCHPORT_REAL_NUMBER enable_if_t<is_arithmetic<T>::value, int> = 0
namespace torchport_real {
template <class T>
using Value = conditional_t<is_integral<T>::value, double, T>;
}
template <class T, TORCHPORT_REAL_NUMBER>
inline constexpr torchport_real::Value<T> real(T x) {
  return x;
}
template <class T, TORCHPORT_REAL_NUMBER>
inline constexpr torchport_real::Value<T> imag(T) {
  return 0;
}
template <class T, TORCHPORT_REAL_NUMBER>
inline torchport_real::Value<T> arg(T x) {
  return atan2(torchport_real::Value<T>(0), torchport_real::Value<T>(x));
}
template <class T, TORCHPORT_REAL_NUMBER>
inline torchport_real::Value<T> norm(T x) {
  return torchport_real::Value<T>(x) * torchport_real::Value<T>(x);
}
template <class T, TORCHPORT_REAL_NUMBER>
inline complex<torchport_real::Value<T>> conj(T x) {
  return complex<torchport_real::Value<T>>(x);
}
template <class T, TORCHPORT_REAL_NUMBER>
inline complex<torchport_real::Value<T>> proj(T x) {
  return complex<torchport_real::Value<T>>(isinf(torchport_real::Value<T>(x)) ? fabs(x) : x);
}
#undef TORCHPORT_REAL_NUMBER

#define TORCHPORT_OF_COMPLEX(name)                                                       \
  template <class T>                                                                     \
  inline complex<T> name(const complex<T>& z) {                                          \
    return torchport_device::from_c(torchport_device::c_##name(torchport_device::c_of(z))); \
  }
TORCHPORT_OF_COMPLEX(exp)
TORCHPORT_OF_COMPLEX(log)
TORCHPORT_OF_COMPLEX(sqrt)
TORCHPORT_OF_COMPLEX(sin)
TORCHPORT_OF_COMPLEX(cos)
TORCHPORT_OF_COMPLEX(tan)
TORCHPORT_OF_COMPLEX(sinh)
TORCHPORT_OF_COMPLEX(cosh)
TORCHPORT_OF_COMPLEX(tanh)
TORCHPORT_OF_COMPLEX(asin)
TORCHPORT_OF_COMPLEX(acos)
TORCHPORT_OF_COMPLEX(atan)
TORCHPORT_OF_COMPLEX(asinh)
TORCHPORT_OF_COMPLEX(acosh)
TORCHPORT_OF_COMPLEX(atanh)
TORCHPORT_OF_COMPLEX(proj)
#undef TORCHPORT_OF_COMPLEX
template <class T>
inline complex<T> log10(const complex<T>& z) {
  return log(z) / T(2.30258509299404568402);
}
template <class T>
inline complex<T> log2(const complex<T>& z) {
  return log(z) / T(0.693147180559945309417);
}
template <class T>
inline complex<T> pow(const complex<T>& z, const complex<T>& w) {
  return torchport_device::from_c(
      torchport_device::c_pow(torchport_device::c_of(z), torchport_device::c_of(w)));
}
// Of two types: in the wider one.
template <class T, class U>
inline auto pow(const complex<T>& z, const complex<U>& w) {
  using Both = complex<common_type_t<T, U>>;
  return pow(Both(z), Both(w));
}
template <class T, class U, enable_if_t<is_arithmetic<U>::value, int> = 0>
inline auto pow(const complex<T>& z, const U& x) {
  using Both = complex<common_type_t<T, torchport_real::Value<U>>>;
  return pow(Both(z), Both(x));
}
template <class T, class U, enable_if_t<is_arithmetic<T>::value, int> = 0>
inline auto pow(const T& x, const complex<U>& z) {
  using Both = complex<common_type_t<torchport_real::Value<T>, U>>;
  return pow(Both(x), Both(z));
}

}  // namespace std
