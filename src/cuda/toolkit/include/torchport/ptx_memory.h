// Loads, stores, atomics and copies of PTX. Caches, scopes and hints of eviction mean nothing here;
// what is volatile, relaxed or acquired may be what a thread waits for, so others run before it.
#pragma once

#include "ptx_arithmetic.h"
#include "shared_address.h"
#include "warp.h"

namespace torchport::ptx {

enum class Space { kGeneric, kShared };
template <Space kSpace, class A>
__forceinline__ char* at(A address, long long offset = 0) {
  if constexpr (kSpace == Space::kShared)
    return shared_pointer(static_cast<unsigned long long>(address) +
                          static_cast<unsigned long long>(offset));
  return reinterpret_cast<char*>(static_cast<unsigned long long>(address) +
                                 static_cast<unsigned long long>(offset));
}

// The type that lies in memory; halves as their bits.
template <class T>
using Stored = std::conditional_t<kIsHalf<T> || kIsPair<T>, Raw<T::kBits>,
                                  typename std::conditional_t<kIsPair<T>, u32, T>::value>;

template <class T, class D>
__forceinline__ void ld(D& d, const char* from) {
  if constexpr (kIsHalf<T> || kIsPair<T>) {
    Raw<T::kBits> v;
    __builtin_memcpy(&v, from, sizeof(v));
    set_bits(d, v);
  } else {
    typename T::value v;
    __builtin_memcpy(&v, __builtin_assume_aligned(from, sizeof(v)), sizeof(v));
    set<T>(d, v);
  }
}
template <class T, class D>
__forceinline__ void ld_observed(D& d, const char* from) {
  using R = Raw<T::kBits>;
  if constexpr (sizeof(R) <= 8) {
    R v = __atomic_load_n(reinterpret_cast<const R*>(from), __ATOMIC_ACQUIRE);
    ld<T>(d, reinterpret_cast<const char*>(&v));
  } else {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ld<T>(d, from);
  }
}
__forceinline__ void wait_a_little() {
  ::torchport::cuda::yield();
}
template <class T, class A>
__forceinline__ void st(char* to, A a) {
  Raw<T::kBits> v = static_cast<Raw<T::kBits>>(a);
  __builtin_memcpy(__builtin_assume_aligned(to, sizeof(v)), &v, sizeof(v));
}
template <class T, class A>
__forceinline__ void st_observed(char* to, A a) {
  using R = Raw<T::kBits>;
  if constexpr (sizeof(R) <= 8) {
    __atomic_store_n(reinterpret_cast<R*>(to), static_cast<R>(a), __ATOMIC_RELEASE);
  } else {
    st<T>(to, a);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
}

// ---- Atomics ----
enum class Atom { kAdd, kMin, kMax, kInc, kDec, kExch, kAnd, kOr, kXor };
template <class T, Atom kOp>
__forceinline__ Raw<T::kBits> combined(Raw<T::kBits> old, Raw<T::kBits> with) {
  Raw<T::kBits> r = 0;
  if constexpr (kOp == Atom::kExch)
    r = with;
  else if constexpr (kOp == Atom::kAnd)
    r = old & with;
  else if constexpr (kOp == Atom::kOr)
    r = old | with;
  else if constexpr (kOp == Atom::kXor)
    r = old ^ with;
  else if constexpr (kOp == Atom::kInc)
    r = old >= with ? 0 : old + 1;
  else if constexpr (kOp == Atom::kDec)
    r = old == 0 || old > with ? with : old - 1;
  else if constexpr (kOp == Atom::kAdd)
    add<T>(r, old, with);
  else
    choose<T>(r, old, with, kOp == Atom::kMax);
  return r;
}
template <class T, Atom kOp, class A>
__forceinline__ Raw<T::kBits> changed(char* at, A value) {
  using R = Raw<T::kBits>;
  R* place = reinterpret_cast<R*>(at);
  R with = static_cast<R>(value);
  R old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, combined<T, kOp>(old, with), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T, Atom kOp, class D, class A>
__forceinline__ void atom(D& d, char* at, A value) {
  set_bits(d, changed<T, kOp>(at, value));
}
template <class T, class D, class A, class B>
__forceinline__ void atom_cas(D& d, char* at, A compare, B value) {
  using R = Raw<T::kBits>;
  R old = static_cast<R>(compare);
  if constexpr (sizeof(R) <= 8) {
    if (!__atomic_compare_exchange_n(reinterpret_cast<R*>(at), &old, static_cast<R>(value), false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      wait_a_little();
  } else {
    R now;
    __builtin_memcpy(&now, at, sizeof(R));
    if (now == old) {
      R with = static_cast<R>(value);
      __builtin_memcpy(at, &with, sizeof(R));
    }
    old = now;
  }
  set_bits(d, old);
}

// The fourth operand of cp.async: how many bytes to read, or a predicate to read none.
template <class A>
__forceinline__ unsigned to_read(A a, unsigned bytes) {
  if constexpr (std::is_same_v<A, bool>)
    return a ? 0 : bytes;
  else
    return static_cast<unsigned>(a);
}

// ---- Copies that are asynchronous on a GPU: done at once ----
__forceinline__ void cp_async(char* to, const char* from, unsigned bytes, unsigned given) {
  if (given > bytes) given = bytes;
  __builtin_memcpy(to, from, given);
  __builtin_memset(to + given, 0, bytes - given);
  cuda::copies_later(to, bytes);
}

}  // namespace torchport::ptx
