// CUDA's atomic functions, with their scopes: blocks run on several threads of the host, so that
// each is one of the host's atomic operations. Sources: CUDA C++ programming guide, "Atomic
// functions".
#pragma once

#include <cstring>
#include <type_traits>

#include "torchport/warp.h"

namespace torchport::cuda {

// An exchange is no fence on a GPU, which a checker has to know. The host's compiler must not move
// accesses over it, as programs on GPUs count on.
#ifdef __TORCHPORT_CHECK__
constexpr int kExchangeOrder = __ATOMIC_RELAXED;
#else
constexpr int kExchangeOrder = __ATOMIC_SEQ_CST;
#endif

template <std::size_t Bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = unsigned char;
};
template <>
struct BitsOf<2> {
  using type = unsigned short;
};
template <>
struct BitsOf<4> {
  using type = unsigned;
};
template <>
struct BitsOf<8> {
  using type = unsigned long long;
};

template <class T>
using Bits = typename BitsOf<sizeof(T)>::type;

template <class T>
Bits<T> bits_of(const T& value) {
  Bits<T> bits;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
T of_bits(Bits<T> bits) {
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

// Replaces the value by `change` of it, and returns the value before.
template <class T, class Change>
TORCHPORT_OF_CALLER T atomically(T* address, Change change) {
  auto* bits = reinterpret_cast<Bits<T>*>(address);
  Bits<T> before = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (true) {
    const T old = of_bits<T>(before);
    const Bits<T> after = bits_of<T>(change(old));
    if (__atomic_compare_exchange_n(bits, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}

// Programs wait in loops of these, so that other threads of the block have to get a turn.
inline void maybe_waits(bool failed) {
  static thread_local unsigned times = 0;
  constexpr unsigned kPatience = 16;
  if (!failed) return;
  if (++times % kPatience == 0) yield();
}

template <class T>
TORCHPORT_OF_CALLER T compare_and_swap(T* address, T compare, T value) {
  auto* bits = reinterpret_cast<Bits<T>*>(address);
  Bits<T> expected = bits_of(compare);
  const bool done = __atomic_compare_exchange_n(bits, &expected, bits_of(value), false,
                                                kExchangeOrder, kExchangeOrder);
  maybe_waits(!done);
  return of_bits<T>(expected);
}
template <class T>
TORCHPORT_OF_CALLER T exchange_value(T* address, T value) {
  auto* bits = reinterpret_cast<Bits<T>*>(address);
  const Bits<T> before = __atomic_exchange_n(bits, bits_of(value), kExchangeOrder);
  maybe_waits(before == bits_of(value));
  return of_bits<T>(before);
}

}  // namespace torchport::cuda

// NAME, NAME_block and NAME_system for one type.
#define TORCHPORT_ATOMIC_OF(NAME, TYPE, BODY)                               \
  TORCHPORT_OF_CALLER TYPE NAME(TYPE* address, TYPE value)                  \
      BODY TORCHPORT_OF_CALLER TYPE NAME##_block(TYPE* address, TYPE value) \
          BODY TORCHPORT_OF_CALLER TYPE NAME##_system(TYPE* address, TYPE value) BODY
// A program that adds the constant zero asks for the value, and may ask until it changes. Without
// optimization no argument is known to be constant.
#ifdef __OPTIMIZE__
#define TORCHPORT_ASKS(value) (__builtin_constant_p(value) && (value) == 0)
#else
#define TORCHPORT_ASKS(value) ((value) == 0)
#endif
#define TORCHPORT_ATOMIC_BUILTIN(NAME, TYPE, BUILTIN)      \
  TORCHPORT_ATOMIC_OF(NAME, TYPE, {                        \
    ::torchport::cuda::maybe_waits(TORCHPORT_ASKS(value)); \
    return BUILTIN(address, value, __ATOMIC_RELAXED);      \
  })
#define TORCHPORT_ATOMIC(NAME, TYPE, EXPRESSION)                                   \
  TORCHPORT_ATOMIC_OF(NAME, TYPE, {                                                \
    return ::torchport::cuda::atomically(                                          \
        address, [=](TYPE old) -> TYPE { return static_cast<TYPE>(EXPRESSION); }); \
  })

TORCHPORT_ATOMIC_BUILTIN(atomicAdd, int, __atomic_fetch_add)
TORCHPORT_ATOMIC_BUILTIN(atomicAdd, unsigned, __atomic_fetch_add)
TORCHPORT_ATOMIC_BUILTIN(atomicAdd, unsigned long long, __atomic_fetch_add)
TORCHPORT_ATOMIC_BUILTIN(atomicSub, int, __atomic_fetch_sub)
TORCHPORT_ATOMIC_BUILTIN(atomicSub, unsigned, __atomic_fetch_sub)
TORCHPORT_ATOMIC(atomicAdd, float, old + value)
TORCHPORT_ATOMIC(atomicAdd, double, old + value)
#define TORCHPORT_ATOMIC_WORDS(NAME, TYPE)                     \
  TORCHPORT_ATOMIC(atomicMin, TYPE, value < old ? value : old) \
  TORCHPORT_ATOMIC(atomicMax, TYPE, value > old ? value : old)
TORCHPORT_ATOMIC_WORDS(Min, int)
TORCHPORT_ATOMIC_WORDS(Min, unsigned)
TORCHPORT_ATOMIC_WORDS(Min, long long)
TORCHPORT_ATOMIC_WORDS(Min, unsigned long long)
#undef TORCHPORT_ATOMIC_WORDS
#define TORCHPORT_ATOMIC_BITS(TYPE)                             \
  TORCHPORT_ATOMIC_BUILTIN(atomicAnd, TYPE, __atomic_fetch_and) \
  TORCHPORT_ATOMIC_BUILTIN(atomicOr, TYPE, __atomic_fetch_or)   \
  TORCHPORT_ATOMIC_BUILTIN(atomicXor, TYPE, __atomic_fetch_xor)
TORCHPORT_ATOMIC_BITS(int)
TORCHPORT_ATOMIC_BITS(unsigned)
TORCHPORT_ATOMIC_BITS(unsigned long long)
#undef TORCHPORT_ATOMIC_BITS
TORCHPORT_ATOMIC(atomicInc, unsigned, old >= value ? 0U : old + 1U)
TORCHPORT_ATOMIC(atomicDec, unsigned, old == 0U || old > value ? value : old - 1U)
#define TORCHPORT_ATOMIC_EXCHANGE(TYPE) \
  TORCHPORT_ATOMIC_OF(atomicExch, TYPE, \
                      { return ::torchport::cuda::exchange_value(address, value); })
TORCHPORT_ATOMIC_EXCHANGE(int)
TORCHPORT_ATOMIC_EXCHANGE(unsigned)
TORCHPORT_ATOMIC_EXCHANGE(unsigned long long)
TORCHPORT_ATOMIC_EXCHANGE(float)
#undef TORCHPORT_ATOMIC_EXCHANGE
#define TORCHPORT_ATOMIC_SWAP(TYPE)                                                    \
  TORCHPORT_OF_CALLER TYPE atomicCAS(TYPE* address, TYPE compare, TYPE value) {        \
    return ::torchport::cuda::compare_and_swap(address, compare, value);               \
  }                                                                                    \
  TORCHPORT_OF_CALLER TYPE atomicCAS_block(TYPE* address, TYPE compare, TYPE value) {  \
    return ::torchport::cuda::compare_and_swap(address, compare, value);               \
  }                                                                                    \
  TORCHPORT_OF_CALLER TYPE atomicCAS_system(TYPE* address, TYPE compare, TYPE value) { \
    return ::torchport::cuda::compare_and_swap(address, compare, value);               \
  }
TORCHPORT_ATOMIC_SWAP(int)
TORCHPORT_ATOMIC_SWAP(unsigned)
TORCHPORT_ATOMIC_SWAP(unsigned long long)
TORCHPORT_ATOMIC_SWAP(unsigned short)
#undef TORCHPORT_ATOMIC_SWAP

// Vectors are atomic for each element, not as a whole.
TORCHPORT_OF_CALLER float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
TORCHPORT_OF_CALLER float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
          atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
}
#define TORCHPORT_ATOMIC_SCOPES(TYPE)                                    \
  TORCHPORT_OF_CALLER TYPE atomicAdd_block(TYPE* address, TYPE value) {  \
    return atomicAdd(address, value);                                    \
  }                                                                      \
  TORCHPORT_OF_CALLER TYPE atomicAdd_system(TYPE* address, TYPE value) { \
    return atomicAdd(address, value);                                    \
  }
TORCHPORT_ATOMIC_SCOPES(float2)
TORCHPORT_ATOMIC_SCOPES(float4)
#undef TORCHPORT_ATOMIC_SCOPES

namespace torchport::cuda {

// 16 bytes are one value under a lock of the process: few hosts' compilers have an instruction for
// them that they are allowed to use.
TORCHPORT_CUDA_API void lock_wide_atomics(bool lock);
template <class T>
using Wide = std::enable_if_t<sizeof(T) == 16 && std::is_trivially_copyable_v<T>, T>;

}  // namespace torchport::cuda

template <class T>
::torchport::cuda::Wide<T> atomicExch(T* address, T value) {
  ::torchport::cuda::lock_wide_atomics(true);
  const T before = *address;
  *address = value;
  ::torchport::cuda::lock_wide_atomics(false);
  return before;
}
template <class T>
::torchport::cuda::Wide<T> atomicCAS(T* address, T compare, T value) {
  ::torchport::cuda::lock_wide_atomics(true);
  const T before = *address;
  if (std::memcmp(&before, &compare, sizeof(T)) == 0) *address = value;
  ::torchport::cuda::lock_wide_atomics(false);
  ::torchport::cuda::maybe_waits(std::memcmp(&before, &compare, sizeof(T)) != 0);
  return before;
}
