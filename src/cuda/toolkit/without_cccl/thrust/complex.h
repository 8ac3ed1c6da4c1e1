// What PyTorch's headers need of thrust/complex.h where the headers of cub and thrust are not
// installed. The numbers are those of std::complex.
#pragma once

#include <complex>

namespace thrust {

template <class T>
struct complex : std::complex<T> {
  using std::complex<T>::complex;
  complex() = default;
  complex(const std::complex<T>& other) : std::complex<T>(other) {}
  template <class U>
  explicit complex(const complex<U>& other)
      : std::complex<T>(static_cast<T>(other.real()), static_cast<T>(other.imag())) {}
};

#define TORCHPORT_COMPLEX(NAME)                        \
  template <class T>                                   \
  complex<T> NAME(const complex<T>& z) {               \
    return std::NAME(static_cast<std::complex<T>>(z)); \
  }
TORCHPORT_COMPLEX(exp)
TORCHPORT_COMPLEX(log)
TORCHPORT_COMPLEX(log10)
TORCHPORT_COMPLEX(sqrt)
TORCHPORT_COMPLEX(sin)
TORCHPORT_COMPLEX(cos)
TORCHPORT_COMPLEX(tan)
TORCHPORT_COMPLEX(asin)
TORCHPORT_COMPLEX(acos)
TORCHPORT_COMPLEX(atan)
TORCHPORT_COMPLEX(sinh)
TORCHPORT_COMPLEX(cosh)
TORCHPORT_COMPLEX(tanh)
TORCHPORT_COMPLEX(asinh)
TORCHPORT_COMPLEX(acosh)
TORCHPORT_COMPLEX(atanh)
TORCHPORT_COMPLEX(conj)
TORCHPORT_COMPLEX(proj)
#undef TORCHPORT_COMPLEX
template <class T>
T abs(const complex<T>& z) {
  return std::abs(static_cast<std::complex<T>>(z));
}
template <class T>
T arg(const complex<T>& z) {
  return std::arg(static_cast<std::complex<T>>(z));
}
template <class T>
T norm(const complex<T>& z) {
  return std::norm(static_cast<std::complex<T>>(z));
}
template <class T>
complex<T> polar(const T& length, const T& angle = T()) {
  return std::polar(length, angle);
}
template <class T>
complex<T> pow(const complex<T>& a, const complex<T>& b) {
  return std::pow(static_cast<std::complex<T>>(a), static_cast<std::complex<T>>(b));
}
template <class T>
complex<T> pow(const complex<T>& a, const T& b) {
  return std::pow(static_cast<std::complex<T>>(a), b);
}
template <class T>
complex<T> pow(const T& a, const complex<T>& b) {
  return std::pow(a, static_cast<std::complex<T>>(b));
}

}  // namespace thrust
