// The toolkit's functions of numbers against slower and simpler ones. Prints what is wrong; the
// last line is a hash of all halves' results, which is the same however they are computed.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "cuComplex.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp4.h"
#include "cuda_fp6.h"
#include "cuda_fp8.h"
#include "library_types.h"
#include "math_constants.h"
#include "torchport/functions.h"

namespace {

#define SAME(T, size, alignment) static_assert(sizeof(T) == size && alignof(T) == alignment)
SAME(char3, 3, 1);
SAME(char4, 4, 4);
SAME(short3, 6, 2);
SAME(ushort4, 8, 8);
SAME(int2, 8, 8);
SAME(int3, 12, 4);
SAME(uint4, 16, 16);
SAME(long2, 16, 16);
SAME(longlong3, 24, 8);
SAME(float3, 12, 4);
SAME(float4, 16, 16);
SAME(double2, 16, 16);
SAME(double3, 24, 8);
SAME(double4, 32, 16);
SAME(double4_32a, 32, 32);
SAME(dim3, 12, 4);
SAME(__half, 2, 2);
SAME(__half2, 4, 4);
SAME(__nv_bfloat162, 4, 4);
SAME(__nv_fp8x4_e4m3, 4, 4);
SAME(__nv_fp4x4_e2m1, 2, 2);
union Either {
  float4 vector;
  __half2 halves[4];
};
constexpr dim3 kGrid(2, 3);
static_assert(kGrid.z == 1 && CUDA_R_16BF == 14);

int failures = 0;
void check(bool is, const char* what, double a = 0, double b = 0, double c = 0) {
  if (is || ++failures > 20) return;
  std::printf("wrong: %s of %.17g %.17g %.17g\n", what, a, b, c);
}

std::uint64_t state = 0x9e3779b97f4a7c15ull;
std::uint64_t next() {
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull;
}
template <class T, class Bits>
T any() {
  return torchport::bits<T>(static_cast<Bits>(next()));
}
bool alike(double x, double y) {
  return x == y ? std::signbit(x) == std::signbit(y) : x != x && y != y;
}

// The processor's own answer in a direction.
template <class T, class F>
T in_direction(int mode, F f) {
  std::fesetround(mode);
  volatile T result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}

#define DIRECTED(T, NAME, EXPRESSION)                                                       \
  check(alike(NAME##_rz(x, y), in_direction<T>(FE_TOWARDZERO, [&] { return EXPRESSION; })), \
        #NAME " rz", x, y);                                                                 \
  check(alike(NAME##_ru(x, y), in_direction<T>(FE_UPWARD, [&] { return EXPRESSION; })),     \
        #NAME " ru", x, y);                                                                 \
  check(alike(NAME##_rd(x, y), in_direction<T>(FE_DOWNWARD, [&] { return EXPRESSION; })),   \
        #NAME " rd", x, y);

void directions() {
  for (int i = 0; i < 20000; ++i) {
    volatile float x = any<float, std::uint32_t>(), y = any<float, std::uint32_t>(),
                   z = any<float, std::uint32_t>();
    if (i % 2)
      y = torchport::bits<float>((torchport::bits<unsigned>(x) & 0xff800000u) |
                                 (static_cast<unsigned>(next()) & 0x7fffff));
    if (i % 4 == 3) z = -x * y;
    DIRECTED(float, __fadd, x + y)
    DIRECTED(float, __fsub, x - y)
    DIRECTED(float, __fmul, x* y)
    DIRECTED(float, __fdiv, x / y)
    check(alike(__fmaf_rz(x, y, z),
                in_direction<float>(FE_TOWARDZERO, [&] { return std::fma(x, y, z); })),
          "fma rz", x, y, z);
    check(alike(__fmaf_ru(x, y, z),
                in_direction<float>(FE_UPWARD, [&] { return std::fma(x, y, z); })),
          "fma ru", x, y, z);
    check(alike(__fmaf_rd(x, y, z),
                in_direction<float>(FE_DOWNWARD, [&] { return std::fma(x, y, z); })),
          "fma rd", x, y, z);
    check(alike(__fsqrt_ru(x), in_direction<float>(FE_UPWARD, [&] { return std::sqrt(x); })),
          "sqrt ru", x);
    check(alike(__fsqrt_rz(x), in_direction<float>(FE_TOWARDZERO, [&] { return std::sqrt(x); })),
          "sqrt rz", x);
  }
  for (int i = 0; i < 5000; ++i) {
    volatile double x = any<double, std::uint64_t>(), y = any<double, std::uint64_t>();
    if (i % 2)
      y = torchport::bits<double>((torchport::bits<std::uint64_t>(x) & 0xfff0000000000000u) |
                                  (next() >> 12));
    DIRECTED(double, __dadd, x + y)
    DIRECTED(double, __dmul, x* y)
    DIRECTED(double, __ddiv, x / y)
    check(alike(__double2float_ru(x),
                in_direction<float>(FE_UPWARD, [&] { return static_cast<float>(x); })),
          "float ru", x);
    check(alike(__double2float_rz(x),
                in_direction<float>(FE_TOWARDZERO, [&] { return static_cast<float>(x); })),
          "float rz", x);
    const auto whole = static_cast<long long>(next());
    check(alike(__ll2float_rd(whole), in_direction<float>(FE_DOWNWARD,
                                                          [&] {
                                                            volatile long long w = whole;
                                                            return static_cast<float>(w);
                                                          })),
          "ll2float rd", static_cast<double>(whole));
    check(alike(__ll2double_ru(whole), in_direction<double>(FE_UPWARD,
                                                            [&] {
                                                              volatile long long w = whole;
                                                              return static_cast<double>(w);
                                                            })),
          "ll2double ru", static_cast<double>(whole));
  }
}

// The one of the format's numbers that is nearest to x + rest, of which the rest is too small to
// count but in a tie; ties to an even last bit, by trying three.
template <class B>
unsigned short nearest(__float128 x, __float128 rest = 0) {
  const double d = static_cast<double>(x);
  unsigned short at = B::narrow_to(std::fabs(d), torchport::Round::kZero);
  unsigned short best = at;
  const __float128 size = x < 0 ? -x : x;
  if (size > 1e39) return static_cast<unsigned short>(B::kInfinity | (x < 0 ? 0x8000 : 0));
  __float128 least = -1;
  for (unsigned short one :
       {static_cast<unsigned short>(at ? at - 1 : at), at, static_cast<unsigned short>(at + 1)}) {
    if (one > B::kInfinity) continue;
    __float128 value = B::widen(one);
    // Infinity stands where the next number would.
    if (one == B::kInfinity)
      value = 2 * static_cast<__float128>(B::widen(one - 1)) - B::widen(one - 2);
    const __float128 off = value > size ? value - size : size - value;
    const bool away = (rest < 0) != (x < 0);  // the exact value is smaller than `size`
    const bool wins = rest == 0 ? !(one & 1) : !away;
    if (least < 0 || off < least || (off == least && wins)) least = off, best = one;
  }
  return static_cast<unsigned short>(best | (x < 0 ? 0x8000 : 0));
}

template <class B, class H>
void sums_of(const char* what) {
  auto bits_of = [](H h) {
    unsigned short b;
    std::memcpy(&b, &h, 2);
    return b;
  };
  auto make = [](unsigned short b) {
    H h;
    std::memcpy(static_cast<void*>(&h), &b, 2);
    return h;
  };
  for (int i = 0; i < 100000; ++i) {
    unsigned short a = static_cast<unsigned short>(next()), b = static_cast<unsigned short>(next()),
                   c = static_cast<unsigned short>(next());
    if (i % 2) {  // c near a b, so that sums cancel and lie on ties
      c = nearest<B>(static_cast<__float128>(B::widen(a)) * B::widen(b)) ^ 0x8000;
      c = static_cast<unsigned short>(c + static_cast<int>(next() % 5) - 2);
    }
    const float x = B::widen(a), y = B::widen(b), z = B::widen(c);
    if (!(x - x == 0 && y - y == 0 && z - z == 0)) continue;
    const __float128 exact = static_cast<__float128>(x) * y + z;
    const __float128 p = static_cast<__float128>(x) * y, t = exact - p;
    const unsigned short want = nearest<B>(exact, (p - (exact - t)) + (z - t)),
                         got = bits_of(__hfma(make(a), make(b), make(c)));
    check(want == got || ((want | got) & 0x7fff) == 0, what, x, y, z);
    const unsigned short product = bits_of(__hmul(make(a), make(b)));
    check(nearest<B>(static_cast<__float128>(x) * y) ==
                  (product & (x * static_cast<double>(y) == 0 ? 0x7fff : 0xffff)) ||
              x * static_cast<double>(y) == 0,
          "product", x, y);
    const unsigned short sum = bits_of(__hadd(make(a), make(b)));
    check(nearest<B>(static_cast<__float128>(x) + y) == sum || x + y == 0, "sum", x, y);
  }
}

void conversions() {
  check(__float2int_rn(2147483648.0f) == 2147483647 && __float2int_rz(-3e9f) == -2147483647 - 1,
        "saturation");
  check(__float2uint_rn(-1.0f) == 0 && __float2uint_rz(5e9f) == 0xffffffffu,
        "saturation of unsigned");
  check(__double2ll_rn(1e300) == 0x7fffffffffffffffll && __float2int_rn(NAN) == 0,
        "conversion of NaN");
  check(__float2int_rn(2.5f) == 2 && __float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3,
        "directions");
  check(__half2int_rn(__half(2.5f)) == 2 && static_cast<int>(__half(-2.9f)) == -2, "half to int");
  check(static_cast<float>(__half(65519.996f)) == 65504.0f &&
            std::isinf(static_cast<float>(__half(65520.0f))),
        "half's end");
  check(min(1, 2u) == 1u && max(-1, 2u) == 0xffffffffu && min(NAN, 1.0f) == 1.0f, "min and max");
  check(__nv_fp8_e4m3(1e9f).__x == 0x7e && __nv_fp8_e5m2(-1e9f).__x == 0xfb, "fp8 saturates");
  check(static_cast<float>(__nv_fp4_e2m1(2.6f)) == 3.0f &&
            static_cast<float>(__nv_fp6_e2m3(-9.0f)) == -7.5f,
        "fp4 and fp6");
  for (int b = 0; b < 256; ++b) {
    __nv_fp8_e4m3 x;
    x.__x = static_cast<unsigned char>(b);
    if ((b & 0x7f) != 0x7f)
      check(__nv_fp8_e4m3(static_cast<float>(x)).__x == b, "e4m3 there and back", b);
    __nv_fp8_e5m2 y;
    y.__x = static_cast<unsigned char>(b);
    if ((b & 0x7f) <= 0x7b)
      check(__nv_fp8_e5m2(static_cast<float>(y)).__x == b, "e5m2 there and back", b);
  }
}

bool close(double x, double y, double steps) {
  return x == y || std::fabs(x - y) <= steps * 2.3e-16 * std::fabs(y);
}
void special() {
  for (int i = 1; i < 4000; ++i) {
    const double x = i / 4001.0;
    check(close(erf(erfinv(x)), x, 4), "erfinv", x);
    check(close(erfc(erfcinv(x * 2)), x * 2, 12), "erfcinv", x * 2);
    const double tail = std::exp(-i * 0.17);
    check(close(erfc(erfcinv(tail)), tail, 8 + 4 * i * 0.17), "erfcinv of a tail", tail);
    const double t = (i - 2000) / 55.0;
    if (t > -26)
      check(close(erfcx(t), std::exp(t * t) * erfc(t), 8 + 4 * t * t) || t > 26, "erfcx", t);
    check(close(normcdf(t), 0.5 * erfc(-t * std::sqrt(0.5)), 8 + 4 * t * t), "normcdf", t);
    check(std::fabs(sinpi(t) - std::sin(3.14159265358979323846 * t)) < 1e-13, "sinpi", t);
    check(std::fabs(cospi(t) - std::cos(3.14159265358979323846 * t)) < 1e-13, "cospi", t);
    check(close(rsqrt(x), 1 / std::sqrt(x), 2) && close(rcbrt(x), 1 / std::cbrt(x), 3), "roots", x);
    check(close(norm3d(x, t, 2), std::sqrt(x * x + t * t + 4), 2), "norm3d", x, t);
  }
  check(cospi(0.5) == 0 && !std::signbit(cospi(0.5)) && sinpi(1e300) == 0, "multiples of pi");
  check(close(cyl_bessel_i0(2.5), 3.2898391440501231, 3) &&
            close(cyl_bessel_i1(-40.0), -1.4707396163259356e16, 8),
        "Bessel functions");
  check(close(cuCabs(make_cuDoubleComplex(3e200, 4e200)), 5e200, 2), "cuCabs");
}

std::uint64_t all_halves() {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ull; };
  for (unsigned b = 0; b < 65536; ++b) {
    const float f = torchport::HalfBits::widen(static_cast<unsigned short>(b));
    add(torchport::bits<unsigned>(f));
    if (f == f) check(torchport::HalfBits::narrow(f) == b, "half there and back", b);
    const float g = torchport::BrainBits::widen(static_cast<unsigned short>(b));
    if (g == g) check(torchport::BrainBits::narrow(g) == b, "bfloat16 there and back", b);
    // The neighbours of a half and of the tie above it.
    for (unsigned more : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
      const float near = torchport::bits<float>((torchport::bits<unsigned>(f) & ~0x1fffu) + more);
      add(torchport::HalfBits::narrow(near));
      check(torchport::HalfBits::narrow(near) ==
                torchport::HalfBits::narrow_to(near, torchport::Round::kNearest),
            "half of", near);
    }
  }
  return hash;
}

}  // namespace

int main() {
  directions();
  sums_of<torchport::HalfBits, __half>("half's fma");
  sums_of<torchport::BrainBits, __nv_bfloat16>("bfloat16's fma");
  conversions();
  special();
  const std::uint64_t hash = all_halves();
  std::printf("%d failures\n%016llx\n", failures, static_cast<unsigned long long>(hash));
  return failures != 0;
}
