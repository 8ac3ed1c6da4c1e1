// Functions of float on a table: intrinsics and the library's, bit for bit. Compiled with several flags.
#include "told.h"

namespace {

Table<float> one() {
  std::vector<float> x = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 2.0f, 3.0f, -2.5f, 0.1f, 10.0f, 1e-3f, 3.14159265f,
                          1.57079633f, 1e-40f, -1e-40f, 1.17549435e-38f, 3.4028235e38f, INFINITY, -INFINITY, NAN,
                          88.7f, 89.0f, -87.5f, -104.0f, 127.5f, 38.6f, 1e5f, 1e10f, 48039.0f, 105616.0f, 0.999999f,
                          1.000001f, 16777217.0f, 5.5f, -7.25f, 1e-20f};
  Numbers numbers;
  for (int i = 0; i < 10; ++i) x.push_back(numbers.unit() * (i % 2 ? 1.0f : 20.0f));
  return {x, {}, {}};
}

Table<float> pairs() {
  Table<float> t;
  const float some[] = {0.0f, -0.0f, 1.0f, -2.0f, 3.0f, 0.5f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 1e30f};
  for (int i = 0; i < 12; ++i) {
    t.x.push_back(some[i]), t.y.push_back(some[(i * 5 + 3) % 12]), t.z.push_back(some[(i * 7 + 1) % 12]);
    t.x.push_back(some[i]), t.y.push_back(some[i]), t.z.push_back(some[11 - i]);
  }
  Numbers numbers;
  for (int i = 0; i < 20; ++i) {
    t.x.push_back(numbers.unit() * 8), t.y.push_back(numbers.unit() * 8), t.z.push_back(numbers.unit() * 8);
  }
  return t;
}

#define F1(...) ASK(float, float, one, __VA_ARGS__)
#define F2(...) ASK(float, float, pairs, __VA_ARGS__)
#define FI(...) ASK(float, int, one, __VA_ARGS__)
#define FL(...) ASK(float, long long, one, __VA_ARGS__)

F1(x)
F2(x)
F2(y)
F2(z)
F1(__sinf(x)) F1(__cosf(x)) F1(__tanf(x)) F1(__expf(x)) F1(__exp10f(x)) F1(__logf(x)) F1(__log2f(x))
F1(__log10f(x)) F1(__saturatef(x)) F1(__frsqrt_rn(x)) F1(__frcp_rn(x)) F1(__frcp_rd(x)) F1(__frcp_ru(x))
F1(__frcp_rz(x)) F1(__fsqrt_rn(x)) F1(__fsqrt_rd(x)) F1(__fsqrt_ru(x)) F1(__fsqrt_rz(x)) F1(__tanhf(x))
F2(__powf(x, y)) F2(__fdividef(x, y)) F2(__fdiv_rn(x, y)) F2(__fdiv_rd(x, y)) F2(__fdiv_ru(x, y))
F2(__fdiv_rz(x, y)) F2(__fadd_rn(x, y)) F2(__fadd_rd(x, y)) F2(__fadd_ru(x, y)) F2(__fadd_rz(x, y))
F2(__fsub_rn(x, y)) F2(__fsub_rz(x, y)) F2(__fmul_rn(x, y)) F2(__fmul_rd(x, y)) F2(__fmul_ru(x, y))
F2(__fmul_rz(x, y)) F2(__fmaf_rn(x, y, z)) F2(__fmaf_rd(x, y, z)) F2(__fmaf_ru(x, y, z)) F2(__fmaf_rz(x, y, z))
F2(__fmaf_ieee_rn(x, y, z))
F1(sinf(x)) F1(cosf(x)) F1(tanf(x)) F1(asinf(x)) F1(acosf(x)) F1(atanf(x)) F1(sinhf(x)) F1(coshf(x)) F1(tanhf(x))
F1(asinhf(x)) F1(acoshf(x)) F1(atanhf(x)) F1(expf(x)) F1(exp2f(x)) F1(exp10f(x)) F1(expm1f(x)) F1(logf(x))
F1(log2f(x)) F1(log10f(x)) F1(log1pf(x)) F1(logbf(x)) F1(rsqrtf(x)) F1(sqrtf(x)) F1(cbrtf(x)) F1(rcbrtf(x))
F1(erff(x)) F1(erfcf(x)) F1(erfinvf(x)) F1(erfcinvf(x)) F1(erfcxf(x)) F1(normcdff(x)) F1(normcdfinvf(x))
F1(lgammaf(x)) F1(tgammaf(x)) F1(j0f(x)) F1(j1f(x)) F1(y0f(x)) F1(y1f(x)) F1(sinpif(x)) F1(cospif(x))
F1(cyl_bessel_i0f(x)) F1(cyl_bessel_i1f(x)) F1(rintf(x)) F1(nearbyintf(x)) F1(roundf(x)) F1(floorf(x))
F1(ceilf(x)) F1(truncf(x)) F1(fabsf(x)) F1(1.0f / x) F1(x / 3.0f) F1(x / 1.1f)
F2(powf(x, y)) F2(fmodf(x, y)) F2(remainderf(x, y)) F2(atan2f(x, y)) F2(hypotf(x, y)) F2(rhypotf(x, y))
F2(fdimf(x, y)) F2(fmaxf(x, y)) F2(fminf(x, y)) F2(copysignf(x, y)) F2(nextafterf(x, y)) F2(x / y)
F2(max(x, y)) F2(min(x, y)) F2(fmaf(x, y, z)) F2(norm3df(x, y, z)) F2(rnorm3df(x, y, z))
F1(powf(x, 2.0f)) F1(powf(x, 0.5f)) F1(ldexpf(x, 3)) F1(scalbnf(x, -140))
FI(__float2int_rn(x)) FI(__float2int_rd(x)) FI(__float2int_ru(x)) FI(__float2int_rz(x)) FI((int)x)
FI((int)__float2uint_rn(x)) FI((int)__float2uint_rz(x)) FI((int)(unsigned)x) FI((int)(short)x)
FI((int)(signed char)x) FI((int)(unsigned char)x) FI(ilogbf(x)) FI(lroundf(x)) FI(isnan(x) * 4 + isinf(x) * 2 + isfinite(x))
FI(signbit(x) != 0)
FL(__float2ll_rn(x)) FL(__float2ll_rz(x)) FL(__float2ull_rn(x)) FL((long long)x) FL((unsigned long long)x)
FL(llrintf(x))

__global__ void pieces(const float* xs, float* out, int* whole, int count) {
  for (int i = 0; i < count; ++i) {
    int exponent = 0, quotient = 0;
    float s, c, sp, cp, i1;
    sincosf(xs[i], &s, &c), sincospif(xs[i], &sp, &cp);
    float f = modff(xs[i], &i1), m = frexpf(xs[i], &exponent), r = remquof(xs[i], 0.7f, &quotient);
    float fast_s, fast_c;
    __sincosf(xs[i], &fast_s, &fast_c);
    float values[] = {s, c, sp, cp, f, i1, m, r, fast_s, fast_c};
    for (int k = 0; k < 10; ++k) out[k * count + i] = values[k];
    whole[i] = isfinite(xs[i]) ? exponent : 0;
    whole[count + i] = isfinite(xs[i]) ? quotient & 7 : 0;
  }
}

}  // namespace

int main() {
  ask_all_entries();
  Table<float> table = one();
  int count = static_cast<int>(table.x.size());
  Array<float> x(table.x), out(10 * count);
  Array<int> whole(2 * count);
  pieces<<<1, 1>>>(x, out, whole, count);
  FINISH();
  const char* names[] = {"sincosf s", "sincosf c", "sincospif s", "sincospif c", "modff", "modff whole",
                         "frexpf",    "remquof",   "__sincosf s", "__sincosf c"};
  auto values = out.host();
  for (int k = 0; k < 10; ++k)
    tell_bits(names[k], std::vector<float>(values.begin() + k * count, values.begin() + (k + 1) * count));
  auto ints = whole.host();
  tell("frexpf exponent", std::vector<int>(ints.begin(), ints.begin() + count));
  tell("remquof quotient", std::vector<int>(ints.begin() + count, ints.end()));
  return 0;
}
