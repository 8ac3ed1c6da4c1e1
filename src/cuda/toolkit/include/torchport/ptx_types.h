// Registers of PTX and the types that instructions read them as. A register is its bits; `get`
// reads a type from its low bits, `set` writes one and fills a wider register up, as ld and cvt do.
#pragma once

#include <type_traits>

#include "bits.h"
#include "conversions.h"
#include "small_floats.h"

namespace torchport::ptx {

template <class V, int kB = 8 * static_cast<int>(sizeof(V))>
struct Plain {
  using value = V;
  static constexpr int kBits = kB;
  static constexpr bool kFloat = std::is_floating_point_v<V>;
};
struct u8 : Plain<unsigned char> {};
struct u16 : Plain<unsigned short> {};
struct u32 : Plain<unsigned int> {};
struct u64 : Plain<unsigned long long> {};
struct s8 : Plain<signed char> {};
struct s16 : Plain<short> {};
struct s32 : Plain<int> {};
struct s64 : Plain<long long> {};
struct b128 : Plain<torchport_uint128, 128> {};
struct f32 : Plain<float> {};
struct f64 : Plain<double> {};
// Halves are computed with as floats.
struct f16 : Plain<float, 16> {
  using small = HalfBits;
};
struct bf16 : Plain<float, 16> {
  using small = BrainBits;
};
// Two in a register: the low one first.
struct f16x2 {
  using part = f16;
  static constexpr int kBits = 32;
};
struct bf16x2 {
  using part = bf16;
  static constexpr int kBits = 32;
};
using pred = bool;

template <int kBits>
using Raw = std::conditional_t<
    kBits == 8, unsigned char,
    std::conditional_t<kBits == 16, unsigned short,
                       std::conditional_t<kBits == 32, unsigned int,
                                          std::conditional_t<kBits == 64, unsigned long long,
                                                             torchport_uint128>>>>;

// Where `_` takes a result.
struct Sink {};

template <class T, class R>
__forceinline__ auto get(R reg) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return T::small::widen(static_cast<unsigned short>(reg));
  } else if constexpr (T::kBits == 32 && std::is_same_v<T, f32>) {
    return bits<float>(static_cast<unsigned>(reg));
  } else if constexpr (std::is_same_v<T, f64>) {
    return bits<double>(static_cast<unsigned long long>(reg));
  } else {
    return static_cast<typename T::value>(reg);
  }
}

template <class T, class R, class V>
__forceinline__ void set(R& reg, V value) {
  if constexpr (std::is_same_v<R, Sink>) {
    (void)reg, (void)value;
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    reg = T::small::narrow(value);
  } else if constexpr (std::is_same_v<T, f32>) {
    reg = bits<unsigned>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, f64>) {
    reg = bits<unsigned long long>(static_cast<double>(value));
  } else if constexpr (std::is_same_v<R, bool>) {
    reg = value != 0;
  } else {
    reg = static_cast<R>(static_cast<typename T::value>(value));
  }
}
// Bits as they are.
template <class R, class V>
__forceinline__ void set_bits(R& reg, V value) {
  if constexpr (!std::is_same_v<R, Sink>) reg = static_cast<R>(value);
}

// ---- Operands of the statement ----
template <int kBits, class V>
__forceinline__ Raw<kBits> in(const V& v) {
  using R = Raw<kBits>;
  if constexpr (std::is_array_v<V>) {
    return static_cast<R>(reinterpret_cast<unsigned long long>(&v));
  } else if constexpr (std::is_pointer_v<V>) {
    return static_cast<R>(reinterpret_cast<unsigned long long>(v));
  } else if constexpr (std::is_null_pointer_v<V>) {
    return 0;
  } else if constexpr (std::is_integral_v<V> || std::is_enum_v<V>) {
    return static_cast<R>(v);
  } else if constexpr (std::is_floating_point_v<V> && sizeof(V) != sizeof(R)) {
    return in<kBits>(static_cast<std::conditional_t<kBits == 32, float, double>>(v));
  } else {
    static_assert(sizeof(V) <= sizeof(R), "an operand is larger than its register");
    R reg = 0;
    memcpy(&reg, &v, sizeof(V));
    return reg;
  }
}
template <class V, class R>
__forceinline__ void out(V& v, R reg) {
  using T = std::remove_cv_t<V>;
  if constexpr (std::is_pointer_v<T>) {
    v = reinterpret_cast<T>(static_cast<unsigned long long>(reg));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    v = static_cast<T>(reg);
  } else {
    static_assert(sizeof(T) <= sizeof(R), "an operand is larger than its register");
    memcpy(const_cast<T*>(&v), &reg, sizeof(T));
  }
}

}  // namespace torchport::ptx
