// Functions of double on a table, bit for bit.
#include "told.h"

namespace {

Table<double> one() {
  std::vector<double> x = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 0.1, 10.0, 1e-3, 3.14159265358979,
                           1.5707963267948966, 5e-324, -1e-310, 2.2250738585072014e-308, 1.7976931348623157e308,
                           INFINITY, -INFINITY, NAN, 709.5, 710.0, -708.0, -745.5, 1e5, 1e10, 1e22,
                           4294967296.5, 9.3e18, -9.3e18, 2e19, 1e-30};
  Numbers numbers;
  for (int i = 0; i < 12; ++i) x.push_back(numbers.unit() * (i % 2 ? 1.0 : 20.0) + numbers.unit() * 1e-9);
  return {x, {}, {}};
}

Table<double> pairs() {
  Table<double> t;
  const double some[] = {0.0, -0.0, 1.0, -2.0, 3.0, 0.5, INFINITY, -INFINITY, NAN, 1e-310, 1e308, 1e200};
  for (int i = 0; i < 12; ++i)
    t.x.push_back(some[i]), t.y.push_back(some[(i * 5 + 3) % 12]), t.z.push_back(some[(i * 7 + 1) % 12]);
  Numbers numbers;
  for (int i = 0; i < 24; ++i) {
    t.x.push_back(numbers.unit() * 8 + 1e-10 * numbers.unit());
    t.y.push_back(numbers.unit() * 8), t.z.push_back(numbers.unit() * 8);
  }
  return t;
}

#define D1(...) ASK(double, double, one, __VA_ARGS__)
#define D2(...) ASK(double, double, pairs, __VA_ARGS__)
#define DI(...) ASK(double, int, one, __VA_ARGS__)
#define DL(...) ASK(double, long long, one, __VA_ARGS__)
#define DF(...) ASK(double, float, one, __VA_ARGS__)

D1(x) D2(x) D2(y) D2(z)
D1(sin(x)) D1(cos(x)) D1(tan(x)) D1(asin(x)) D1(acos(x)) D1(atan(x)) D1(sinh(x)) D1(cosh(x)) D1(tanh(x)) D1(asinh(x))
D1(acosh(x)) D1(atanh(x)) D1(exp(x)) D1(exp2(x)) D1(exp10(x)) D1(expm1(x)) D1(log(x)) D1(log2(x)) D1(log10(x))
D1(log1p(x)) D1(rsqrt(x)) D1(sqrt(x)) D1(cbrt(x)) D1(rcbrt(x)) D1(erf(x)) D1(erfc(x)) D1(erfinv(x)) D1(erfcx(x))
D1(normcdf(x)) D1(normcdfinv(x)) D1(lgamma(x)) D1(tgamma(x)) D1(sinpi(x)) D1(cospi(x)) D1(rint(x)) D1(round(x))
D1(j0(x)) D1(y0(x)) D1(cyl_bessel_i0(x)) D1(1.0 / x) D1(__drcp_rn(x)) D1(__drcp_rz(x)) D1(__dsqrt_rn(x))
D1(__dsqrt_ru(x))
D2(pow(x, y)) D2(fmod(x, y)) D2(remainder(x, y)) D2(atan2(x, y)) D2(hypot(x, y)) D2(fmax(x, y)) D2(fmin(x, y))
D2(x / y) D2(fma(x, y, z)) D2(__dadd_rd(x, y)) D2(__dadd_ru(x, y)) D2(__dadd_rz(x, y)) D2(__dmul_rd(x, y))
D2(__dmul_rz(x, y)) D2(__ddiv_rd(x, y)) D2(__ddiv_ru(x, y)) D2(__fma_rd(x, y, z)) D2(__fma_ru(x, y, z))
D2(__fma_rz(x, y, z)) D2(x * y + z)
DI(__double2int_rn(x)) DI(__double2int_rd(x)) DI(__double2int_ru(x)) DI(__double2int_rz(x)) DI((int)x)
DI((int)__double2uint_rn(x)) DI((int)(unsigned)x) DI((int)(unsigned char)x) DI(__double2hiint(x)) DI(__double2loint(x))
DL(__double2ll_rn(x)) DL(__double2ll_rz(x)) DL((long long)x) DL((long long)__double2ull_rz(x))
DL((long long)(unsigned long long)x)
DF(__double2float_rn(x)) DF(__double2float_rd(x)) DF(__double2float_ru(x)) DF(__double2float_rz(x)) DF((float)x)

Table<long long> wide() {
  std::vector<long long> x = {0, 1, -1, 16777217, -16777219, 9007199254740993ll, -9007199254740995ll,
                              9223372036854775807ll, -9223372036854775807ll - 1, 4294967295ll};
  Numbers numbers;
  for (int i = 0; i < 14; ++i) x.push_back(static_cast<long long>(numbers.next()) >> (i * 3));
  return {x, {}, {}};
}
#define LF(...) ASK(long long, float, wide, __VA_ARGS__)
#define LD(...) ASK(long long, double, wide, __VA_ARGS__)
LF(__ll2float_rn(x)) LF(__ll2float_rd(x)) LF(__ll2float_ru(x)) LF(__ll2float_rz(x)) LF(__ull2float_rn(x))
LF(__ull2float_rz(x)) LF(__int2float_rn((int)x)) LF(__int2float_rz((int)x)) LF(__int2float_ru((int)x))
LF(__uint2float_rn((unsigned)x)) LF(__uint2float_rd((unsigned)x)) LF((float)x)
LD(__ll2double_rn(x)) LD(__ll2double_rz(x)) LD(__ull2double_ru(x)) LD(__longlong_as_double(x))

}  // namespace

int main() {
  ask_all_entries();
  return 0;
}
