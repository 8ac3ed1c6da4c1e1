// What C++ leaves undefined and PTX defines: shifts by the width and more (PTX ISA, shl and shr: an unsigned
// amount, clamped), casts of floats that saturate (cvt.rzi), divisions that do not trap. Each case runs in
// a kernel, with values that the compiler does not know.
#include <cstdint>

#include "sample.h"

namespace {

struct Result {
  long long got;
  long long wanted;
  int line;
};

struct Results {
  Result* all;
  int* count;
  __device__ void add(long long got, long long wanted, int line) {
    all[(*count)++] = {got, wanted, line};
  }
};
#define WANT(got, wanted) results.add((long long)(got), (long long)(wanted), __LINE__)

template <class T, class B>
__device__ auto left(T a, B n) {
  return a << n;
}
template <class T, class B>
__device__ auto right(T a, B n) {
  return a >> n;
}

// At -O1 and above a compiler must not know `n`, which is 0.
__global__ void shifts(Results results, int n) {
  for (const int by : {32, 33, 63, 64, 100, -1, -31, 1 << 31}) {
    const int amount = n + by;
    WANT(0x12345678u << amount, 0);
    WANT(0x12345678u >> amount, 0);
    WANT(-5 >> amount, -1);
    WANT(5 >> amount, 0);
    WANT(5 << amount, 0);
    WANT((short)-5 >> amount, -1);
    WANT((unsigned char)200 << amount, 0);
    const bool is_wide = amount < 0 || amount > 63;
    WANT(1ull << amount, is_wide ? 0 : 1ull << (amount & 63));
    WANT(-1ll >> amount, -1);
    WANT(~0ull >> amount, is_wide ? 0 : ~0ull >> (amount & 63));
    WANT(left(7, amount), 0);
    WANT(left((unsigned short)7, amount), 0);
    WANT(right(-7, (unsigned)amount), -1);
    unsigned x = 0xffffffffu;
    x <<= amount;
    WANT(x, 0);
    int y = -9;
    y >>= amount;
    WANT(y, -1);
    unsigned long long many[2] = {1, 1};
    many[n] <<= amount;
    WANT(many[0], is_wide ? 0 : 1ull << (amount & 63));
    unsigned short small = 0xffff;
    small >>= amount;
    WANT(small, 0);
    WANT((1u << amount) - 1, -1 & 0xffffffffll);
    WANT(3 + 1 << amount, 0);
    WANT((n < 1u << amount) ? 1 : 2, 2);
  }
  for (int amount = 0; amount < 32; ++amount) {
    WANT(0xdeadbeefu << amount, (unsigned)(0xdeadbeefull * (1ull << amount)));
    WANT(0xdeadbeefu >> amount, 0xdeadbeefull / (1ull << amount));
    WANT(-1000000 >> amount, (-1000000ll - ((1ll << amount) - 1)) / (1ll << amount));
    WANT((char)-3 << amount, (int)(-3ll * (1ll << amount)));
  }
  // Of an amount of 64 bits the low 32 count.
  WANT(left(3u, (unsigned long long)n + (1ull << 33)), 3);
  WANT(left(3u, (long long)n + 32), 0);
}

// What is not a number keeps its own operators.
struct Fixed {
  int bits;
};
__device__ Fixed operator<<(Fixed a, int n) {
  return {a.bits + 1000 * n};
}
__device__ Fixed& operator<<=(Fixed& a, int n) {
  a.bits += n;
  return a;
}
struct Eight {
  __device__ constexpr operator int() const { return 8; }
};
enum Few { kFew = 3 };
struct Fields {
  unsigned low : 4, high : 28;
  int power;
  __device__ explicit Fields(int n) : low(1u << n), high{2u}, power((int)(1e10f * (n + 1))) {}
};
template <int N>
struct Table {
  static constexpr int kSize = 1 << N;
  int values[1 << N];
};
template <class T, int N = 2>
__device__ int templates(T x) {
  Table<Table<N>::kSize> table;
  Table<(64 >> N + 1)> other;
  constexpr int k = 3 << N;
  static_assert(sizeof(Table<N>) == sizeof(int) << N, "");
  switch (x) {
    case 1 << N: return k;
    default: return (int)(sizeof(table) / 4 + sizeof(other) / 4 % 3);
  }
}
__global__ void classes(Results results, int n) {
  Fixed a{7};
  WANT((a << n + 2).bits, 2007);
  a <<= n + 3;
  WANT(a.bits, 10);
  WANT(1 << Eight(), 256);
  WANT(left(Eight(), n + 2), 32);
  WANT(kFew << n + 2, 12);
  WANT(1 << kFew, 8);
  const Fields fields(n);
  WANT(fields.low << n + 3, 8);
  WANT(fields.high >> (fields.low + n), 1);
  WANT(fields.power, 2147483647);
  WANT(templates(n + 4), 12);
  WANT(templates(n), 17);
  const auto lambda = [=](auto x) { return x << n + 40; };
  WANT(lambda(1), 0);
  WANT(lambda(1ll), 1ll << 40);
}

template <class T, class F>
__device__ T cast(F x) {
  return static_cast<T>(x);
}
template <class T, class F>
__device__ T c_cast(F x) {
  return (T)x;
}
using Index = long long;

constexpr long long kMost = 2147483647, kLeast = -kMost - 1, kAll = 4294967295ll;
constexpr long long kMost64 = 9223372036854775807ll, kLeast64 = -kMost64 - 1;

__global__ void casts(Results results, float zero) {
  const float nan = zero * INFINITY;
  const float large = 3e9f + zero;
  const double wide = 1e300 + zero;
  WANT((int)large, kMost);
  WANT((int)-large, kLeast);
  WANT((unsigned)large, 3000000000ll);
  WANT((unsigned)(large * 2), kAll);
  WANT((unsigned)-large, 0);
  WANT(unsigned(zero - 0.5f), 0);
  WANT((int)nan, 0);
  WANT((unsigned)nan, 0);
  WANT((long long)nan, kLeast64);
  WANT((unsigned long long)nan, kLeast64);
  WANT((int)(double)nan, kLeast);
  WANT((unsigned)(double)nan, kMost + 1);
  WANT((long long)wide, kMost64);
  WANT((long long)-wide, kLeast64);
  WANT((unsigned long long)wide, -1);
  WANT((unsigned long long)-wide, 0);
  WANT((int)wide, kMost);
  WANT((size_t)(zero - 1), 0);
  WANT((int)(zero - 2.9f), -2);
  WANT((int)(2147483520.0f + zero), 2147483520);
  WANT((int)(2147483646.5 + zero), 2147483646);
  WANT(static_cast<int>(large), kMost);
  WANT(static_cast<uint64_t>(-large), 0);
  WANT(int(large), kMost);
  WANT(cast<int>(large), kMost);
  WANT(c_cast<int>(large), kMost);
  WANT(c_cast<unsigned>(-large), 0);
  WANT(c_cast<Index>(nan), kLeast64);
#ifndef __TORCHPORT_CHECK__  // the checker names what the rewriter does not reach
  WANT((Index)-wide, kLeast64);
#endif
  WANT(c_cast<float>(large), 3000000000ll);
  WANT(c_cast<bool>(nan), 1);
  // Of the narrow types the low bits count (an H100 answered so).
  WANT((short)(1e5f + zero), (short)100000);
  WANT((unsigned char)(300.0f + zero), 44);
  WANT((unsigned char)(zero - 5), 0);
  WANT((signed char)(zero - 5), -5);
#ifndef __TORCHPORT_CHECK__  // the checker names what the rewriter does not reach
  WANT((unsigned char)INFINITY, 255);
#endif
  int i = large;
  WANT(i, kMost);
  const unsigned u = -large, v = large * 4;
  WANT(u, 0);
  WANT(v, kAll);
  for (int k = large; k > kMost - 1; --k) WANT(k, kMost);
  // Integers and pointers are what they were.
  WANT((int)(unsigned)kAll, -1);
  WANT((unsigned char)((int)zero + 513), 1);
  int* p = &i;
  WANT((int*)(uintptr_t)p == p, 1);
  WANT((size_t)p == (uintptr_t)p, 1);
}

// PTX leaves a division by zero open; it does not stop, and gives what an H100 gave.
__global__ void divisions(Results results, int n) {
  unsigned u = 7u + n;
  WANT(u / (unsigned)n, kAll);
  WANT(u % (unsigned)n, kAll);
  WANT((7 + n) / n, -1);
  WANT((n - 7) / n, -1);
  WANT((int)(0x80000000u + n) / (n - 1), kLeast);
  WANT((int)(0x80000000u + n) % (n - 1), 0);
  // What divides before it looks must still look.
  int quotient = (7 + n) / n;
  if (n == 0) quotient = 5;
  WANT(quotient, 5);
  WANT(abs((int)(0x80000000u + n)), kLeast);
}

// The one that is a number (CUDA C++ Programming Guide, floating-point standard).
__global__ void extremes(Results results, float zero) {
  const float nan = zero * INFINITY;
  WANT(fmaxf(nan, 2), 2);
  WANT(fminf(2, nan), 2);
  WANT(max(nan, 2.0f), 2);
  WANT(min(2.0, (double)nan), 2);
  WANT(isnan(fmaxf(nan, nan)), 1);
}

}  // namespace

int main() {
  constexpr int kRoom = 1024;
  Array<Result> all(kRoom);
  Array<int> count(1);
  count.clear();
  const Results results{all, count};
  shifts<<<1, 1>>>(results, 0);
  classes<<<1, 1>>>(results, 0);
  casts<<<1, 1>>>(results, 0);
  divisions<<<1, 1>>>(results, 0);
  extremes<<<1, 1>>>(results, 0);
  const int made = count.host()[0];
  bool right = made > 250 && made <= kRoom;
  const auto host = all.host();
  for (int i = 0; i < made && i < kRoom; ++i) {
    if (host[i].got == host[i].wanted) continue;
    std::fprintf(stderr, "line %d: %lld, not %lld\n", host[i].line, host[i].got, host[i].wanted);
    right = false;
  }
  return finish("shifts_and_casts", right);
}
