// Shifts in device code: `a << b` is written `a << kShift << b`, `a <<= b` is `a <<= kShift = b`
// (src/cuda/source/arithmetic.h). As PTX's shl and shr have it (PTX ISA, "Logic and Shift
// Instructions"), the amount is an unsigned number of 32 bits, and one beyond the width shifts
// everything out: 0, or the sign of a signed number that is shifted right. Operators of classes are
// those of the program.
#pragma once

#include <type_traits>

#include "integers.h"

#define TORCHPORT_CONSTANT __attribute__((always_inline)) constexpr

namespace torchport {

template <class T>
struct IsInteger
    : std::integral_constant<bool, std::is_integral<T>::value ||
                                       (std::is_enum<T>::value &&
                                        std::is_convertible<T, torchport_int128>::value)> {};

template <class T>
TORCHPORT_CONSTANT T shifted_left(T a, unsigned amount) {
  using Bits = std::make_unsigned_t<T>;
  return amount < 8 * sizeof(T) ? static_cast<T>(static_cast<Bits>(a) << amount) : T(0);
}
template <class T>
TORCHPORT_CONSTANT T shifted_right(T a, unsigned amount) {
  constexpr unsigned kMost = 8 * sizeof(T) - 1;
  return std::is_signed<T>::value ? static_cast<T>(a >> (amount < kMost ? amount : kMost))
                                  : (amount <= kMost ? static_cast<T>(a >> amount) : T(0));
}

// The amount of a shift that assigns; what is not a number may have it as it was.
template <class B>
struct ShiftAmount {
  B value;
  TORCHPORT_CONSTANT operator B() const { return value; }
};

struct Shift {
  template <class B, std::enable_if_t<IsInteger<B>::value, int> = 0>
  TORCHPORT_CONSTANT ShiftAmount<B> operator=(B amount) const {
    return {amount};
  }
  template <class B, std::enable_if_t<std::is_class<B>::value, int> = 0>
  TORCHPORT_CONSTANT const B& operator=(const B& amount) const {
    return amount;
  }
};
constexpr Shift kShift{};

template <class T>
struct LeftShift {
  T value;
};
template <class T>
struct RightShift {
  T value;
};
// Of what is not a number.
template <class T>
struct OtherLeftShift {
  T&& value;
};
template <class T>
struct OtherRightShift {
  T&& value;
};

#define TORCHPORT_SHIFTS_OF(T)                                         \
  TORCHPORT_CONSTANT LeftShift<T> operator<<(T a, Shift /*marker*/) {  \
    return {a};                                                        \
  }                                                                    \
  TORCHPORT_CONSTANT RightShift<T> operator>>(T a, Shift /*marker*/) { \
    return {a};                                                        \
  }
TORCHPORT_SHIFTS_OF(int)
TORCHPORT_SHIFTS_OF(unsigned)
TORCHPORT_SHIFTS_OF(long)
TORCHPORT_SHIFTS_OF(unsigned long)
TORCHPORT_SHIFTS_OF(long long)
TORCHPORT_SHIFTS_OF(unsigned long long)
TORCHPORT_SHIFTS_OF(torchport_int128)
TORCHPORT_SHIFTS_OF(torchport_uint128)
#undef TORCHPORT_SHIFTS_OF

template <class T, class B, std::enable_if_t<IsInteger<B>::value, int> = 0>
TORCHPORT_CONSTANT T operator<<(LeftShift<T> a, B amount) {
  return shifted_left(a.value, static_cast<unsigned>(amount));
}
template <class T, class B, std::enable_if_t<IsInteger<B>::value, int> = 0>
TORCHPORT_CONSTANT T operator>>(RightShift<T> a, B amount) {
  return shifted_right(a.value, static_cast<unsigned>(amount));
}
template <class T, class B, std::enable_if_t<!IsInteger<B>::value, int> = 0>
TORCHPORT_CONSTANT auto operator<<(LeftShift<T> a, const B& b) -> decltype(a.value << b) {
  return a.value << b;
}
template <class T, class B, std::enable_if_t<!IsInteger<B>::value, int> = 0>
TORCHPORT_CONSTANT auto operator>>(RightShift<T> a, const B& b) -> decltype(a.value >> b) {
  return a.value >> b;
}

template <class T>
using IfOther = std::enable_if_t<
    !std::is_arithmetic<std::remove_reference_t<T>>::value &&
        !std::is_same<std::remove_cv_t<std::remove_reference_t<T>>, torchport_int128>::value &&
        !std::is_same<std::remove_cv_t<std::remove_reference_t<T>>, torchport_uint128>::value,
    int>;
template <class T, IfOther<T> = 0>
TORCHPORT_CONSTANT OtherLeftShift<T> operator<<(T&& a, Shift /*marker*/) {
  return {static_cast<T&&>(a)};
}
template <class T, IfOther<T> = 0>
TORCHPORT_CONSTANT OtherRightShift<T> operator>>(T&& a, Shift /*marker*/) {
  return {static_cast<T&&>(a)};
}
template <class T, class B>
TORCHPORT_CONSTANT auto operator<<(OtherLeftShift<T> a, B&& b)
    -> decltype(static_cast<T&&>(a.value) << static_cast<B&&>(b)) {
  return static_cast<T&&>(a.value) << static_cast<B&&>(b);
}
template <class T, class B>
TORCHPORT_CONSTANT auto operator>>(OtherRightShift<T> a, B&& b)
    -> decltype(static_cast<T&&>(a.value) >> static_cast<B&&>(b)) {
  return static_cast<T&&>(a.value) >> static_cast<B&&>(b);
}

template <class T, class B, std::enable_if_t<std::is_integral<T>::value, int> = 0>
TORCHPORT_CONSTANT T& operator<<=(T& a, ShiftAmount<B> amount) {
  a = static_cast<std::remove_cv_t<T>>(shifted_left(+a, static_cast<unsigned>(amount.value)));
  return a;
}
template <class T, class B, std::enable_if_t<std::is_integral<T>::value, int> = 0>
TORCHPORT_CONSTANT T& operator>>=(T& a, ShiftAmount<B> amount) {
  a = static_cast<std::remove_cv_t<T>>(shifted_right(+a, static_cast<unsigned>(amount.value)));
  return a;
}

}  // namespace torchport
