// Casts and conversions to integers in device code, which the rewriter names (see
// src/cuda/source/arithmetic.h). Of a float they are PTX's cvt.rzi (PTX ISA, "Data Movement and
// Conversion Instructions: cvt"): they saturate, and a NaN gives 0, or 1 << (width - 1) where one
// of both sides has 64 bits. Integers of 8 and 16 bits are the low bits of one of 32 with their
// sign, as nvcc compiles them (an H100 answered so: tests/fidelity/questions/cuda/programs/
// float_functions.cu).
#pragma once

#include <type_traits>

#include "shifts.h"

namespace torchport {

// Where a checker looks at casts, none may be out of range.
#ifdef __TORCHPORT_CHECK__
constexpr bool kGuardsCasts = true;
#else
constexpr bool kGuardsCasts = false;
#endif

template <class Int, class F>
TORCHPORT_CONSTANT Int saturated_to(F x) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(Int));
  constexpr bool kSigned = std::is_signed<Int>::value;
  constexpr Int kLow = kSigned ? static_cast<Int>(1ull << (kBits - 1)) : static_cast<Int>(0);
  constexpr Int kHigh = static_cast<Int>(~kLow);
  constexpr bool kWide = sizeof(F) > 4 || kBits == 64;
  constexpr Int kOfNan = kWide ? static_cast<Int>(1ull << (kBits - 1)) : static_cast<Int>(0);
  // The first number beyond, exact in F.
  constexpr F kEnd = static_cast<F>(1ull << (kBits - 2)) * (kSigned ? 2 : 4);
  constexpr F kBegin = kSigned ? -kEnd : F(0);
  if (kGuardsCasts || __builtin_is_constant_evaluated())
    return x >= kEnd ? kHigh : (x == x ? static_cast<Int>(x > kBegin ? x : kBegin) : kOfNan);
  // Without a branch, for vectors. What is too low for a signed integer is the lowest one on x86-64
  // and ARM, and for GCC where it knows the number.
  Int whole = static_cast<Int>(x);
  whole = x >= kEnd ? kHigh : whole;
  whole = !kSigned && x <= kBegin ? kLow : whole;
  return x == x ? whole : kOfNan;
}

template <class T>
using AtLeast32 = std::conditional_t<(sizeof(T) >= 4), T,
                                     std::conditional_t<std::is_signed<T>::value, int, unsigned>>;
template <class T, class F>
TORCHPORT_CONSTANT T integer_of(F x) {
  return static_cast<T>(saturated_to<AtLeast32<T>>(x));
}

template <class T>
struct IsSaturated
    : std::integral_constant<
          bool, std::is_integral<T>::value && !std::is_same<std::remove_cv_t<T>, bool>::value &&
                    !std::is_same<std::remove_cv_t<T>, torchport_int128>::value &&
                    !std::is_same<std::remove_cv_t<T>, torchport_uint128>::value> {};

// Of a float what is above; of anything else what C++ says.
template <class T>
struct Saturated {
  T value;
  TORCHPORT_CONSTANT Saturated(float x) : value(integer_of<T>(x)) {}
  TORCHPORT_CONSTANT Saturated(double x) : value(integer_of<T>(x)) {}
  TORCHPORT_CONSTANT Saturated(long double x) : value(integer_of<T>(static_cast<double>(x))) {}
  template <class U, std::enable_if_t<!std::is_floating_point<U>::value &&
                                          !std::is_class<U>::value && !std::is_union<U>::value,
                                      int> = 0>
  TORCHPORT_CONSTANT Saturated(U x) : value((T)x) {}
  template <class U, std::enable_if_t<std::is_class<std::remove_reference_t<U>>::value ||
                                          std::is_union<std::remove_reference_t<U>>::value,
                                      int> = 0>
  TORCHPORT_CONSTANT Saturated(U&& x) : value((T)(static_cast<U&&>(x))) {}
  TORCHPORT_CONSTANT operator T() const { return value; }
};

template <class T>
using Cast =
    typename std::conditional<IsSaturated<T>::value, Saturated<std::remove_cv_t<T>>, T>::type;

// T i = Initial<T>() = x; converts as T i = x; does.
template <class T>
struct Initial {
  TORCHPORT_CONSTANT T operator=(float x) const { return integer_of<T>(x); }
  TORCHPORT_CONSTANT T operator=(double x) const { return integer_of<T>(x); }
  TORCHPORT_CONSTANT T operator=(long double x) const {
    return integer_of<T>(static_cast<double>(x));
  }
  template <class U, std::enable_if_t<!std::is_floating_point<U>::value &&
                                          !std::is_class<U>::value && !std::is_union<U>::value,
                                      int> = 0>
  TORCHPORT_CONSTANT T operator=(U x) const {
    return x;
  }
  template <class U, std::enable_if_t<std::is_class<std::remove_reference_t<U>>::value ||
                                          std::is_union<std::remove_reference_t<U>>::value,
                                      int> = 0>
  TORCHPORT_CONSTANT T operator=(U&& x) const {
    return static_cast<U&&>(x);
  }
};

}  // namespace torchport
