// half and bfloat16: arithmetic, conversions, functions, on tables and (hashed) on all 65536 values.
#include "told.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

using bf16 = __nv_bfloat16;

std::vector<unsigned short> words(bool all) {
  std::vector<unsigned short> w;
  if (all) {
    for (int i = 0; i < 65536; ++i) w.push_back(static_cast<unsigned short>(i));
    return w;
  }
  w = {0,      0x8000, 0x3c00, 0xbc00, 0x3800, 0x4000, 0x4248, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
       0x7c01, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3555, 0x5640, 0xd640, 0x3f80, 0xbf80, 0x7f80, 0xff80,
       0x7fc0, 0x7f7f, 0x0080, 0x4049, 0x4b80};
  Numbers numbers;
  for (int i = 0; i < 19; ++i) w.push_back(static_cast<unsigned short>(0x3000 + numbers.word() % 0x1800 + (i % 2) * 0x8000));
  return w;
}

template <class T>
std::vector<T> from_words(const std::vector<unsigned short>& w, size_t turn = 0) {
  std::vector<T> values(w.size());
  for (size_t i = 0; i < w.size(); ++i) std::memcpy(static_cast<void*>(&values[i]), &w[(i * (turn ? 7 : 1) + turn) % w.size()], 2);
  return values;
}

template <class T>
Table<T> some_words() { return {from_words<T>(words(false)), from_words<T>(words(false), 11), from_words<T>(words(false), 5)}; }
template <class T>
Table<T> all_words() { return {from_words<T>(words(true)), {}, {}}; }

Table<float> floats() {
  std::vector<float> x = {0.0f, -0.0f, 1.0f, 1.0004883f, 1.00048840f, 1.0014649f, 65504.0f, 65519.996f, 65520.0f, -65520.0f,
                          1e30f, -1e30f, INFINITY, -INFINITY, NAN, 5.9604645e-8f, 2.9802322e-8f, 2.98023259e-8f, 1e-10f,
                          -1e-10f, 6.1e-5f, 6.0975552e-5f, 3.3895314e38f, 3.4028235e38f, 1.00390625f, 1.01171875f, 1e-40f,
                          2.5f, -2047.5f, 2049.0f, 4098.5f, 123456.0f};
  Numbers numbers;
  for (int i = 0; i < 16; ++i) x.push_back(numbers.unit() * (i % 2 ? 1.0f : 1000.0f));
  return {x, {}, {}};
}

#define HALF(...) ASK(__half, __half, some_words<__half>, __VA_ARGS__) ASK(bf16, bf16, some_words<bf16>, __VA_ARGS__)
#define EVERY(...) ASK(__half, __half, all_words<__half>, __VA_ARGS__) ASK(bf16, bf16, all_words<bf16>, __VA_ARGS__)
#define TO(OUT, ...) ASK(__half, OUT, some_words<__half>, __VA_ARGS__)
#define TOB(OUT, ...) ASK(bf16, OUT, some_words<bf16>, __VA_ARGS__)

HALF(x) HALF(y) HALF(z)
HALF(x + y) HALF(x - y) HALF(x * y) HALF(x / y) HALF(__hadd(x, y)) HALF(__hadd_rn(x, y)) HALF(__hadd_sat(x, y))
HALF(__hsub_sat(x, y)) HALF(__hmul(x, y)) HALF(__hmul_sat(x, y)) HALF(__hfma(x, y, z)) HALF(__hfma_sat(x, y, z))
HALF(__hfma_relu(x, y, z)) HALF(x * y + z) HALF(__hmin(x, y)) HALF(__hmax(x, y)) HALF(__hmin_nan(x, y))
HALF(__hmax_nan(x, y)) HALF(__hneg(x)) HALF(__habs(x)) HALF(__hdiv(x, y))
EVERY(hexp(x)) EVERY(hexp2(x)) EVERY(hexp10(x)) EVERY(hlog(x)) EVERY(hlog2(x)) EVERY(hlog10(x)) EVERY(hsin(x))
EVERY(hcos(x)) EVERY(hrcp(x)) EVERY(hsqrt(x)) EVERY(hrsqrt(x)) EVERY(htanh(x)) EVERY(htanh_approx(x)) EVERY(hrint(x))
EVERY(hceil(x)) EVERY(hfloor(x)) EVERY(htrunc(x))
HALF(hexp(x)) HALF(hlog(x)) HALF(hsin(x)) HALF(htanh(x)) HALF(htanh_approx(x)) HALF(hrcp(x)) HALF(hrsqrt(x)) HALF(hexp2(x))
ASK(__half, float, all_words<__half>, __half2float(x))
ASK(bf16, float, all_words<bf16>, __bfloat162float(x))
ASK(float, __half, floats, __float2half_rn(x)) ASK(float, __half, floats, __float2half_rd(x))
ASK(float, __half, floats, __float2half_ru(x)) ASK(float, __half, floats, __float2half_rz(x))
ASK(float, __half, floats, __half(x)) ASK(float, __half, floats, __double2half((double)x * 1.0000000001))
ASK(float, bf16, floats, __float2bfloat16_rn(x)) ASK(float, bf16, floats, __float2bfloat16_rd(x))
ASK(float, bf16, floats, __float2bfloat16_ru(x)) ASK(float, bf16, floats, __float2bfloat16_rz(x))
ASK(float, bf16, floats, __double2bfloat16((double)x * 1.0000000001))
ASK(float, __half, floats, __int2half_rn(isfinite(x) ? (int)(x * 4097.0f) : 3))
ASK(float, bf16, floats, __int2bfloat16_rn(isfinite(x) ? (int)(x * 4097.0f) : 3))
ASK(float, float, floats, x)
TO(int, __half2int_rn(x)) TO(int, __half2int_rz(x)) TO(int, __half2int_rd(x)) TO(int, __half2int_ru(x))
TO(short, __half2short_rn(x)) TO(unsigned short, __half2ushort_rz(x)) TO(unsigned, __half2uint_rn(x))
TO(long long, __half2ll_rn(x)) TO(unsigned long long, __half2ull_rz(x)) TO(signed char, __half2char_rz(x))
TO(unsigned char, __half2uchar_rz(x)) TO(int, (int)x)
TOB(int, __bfloat162int_rn(x)) TOB(int, __bfloat162int_rz(x)) TOB(short, __bfloat162short_rn(x))
TOB(unsigned, __bfloat162uint_rz(x)) TOB(long long, __bfloat162ll_rz(x)) TOB(unsigned char, __bfloat162uchar_rz(x))
TO(int, __heq(x, y) + 2 * __hne(x, y) + 4 * __hlt(x, y) + 8 * __hle(x, y) + 16 * __hgt(x, y) + 32 * __hge(x, y) +
            64 * __hequ(x, y) + 128 * __hneu(x, y) + 256 * __hltu(x, y) + 512 * __hgeu(x, y) + 1024 * __hisnan(x) +
            2048 * __hisinf(x))
TO(__half2, __hmin2(__halves2half2(x, y), __halves2half2(y, z))) TO(__half2, __hfma2_relu(__half2(x, y), __half2(y, z), __half2(z, x)))
TO(__half2, __hcmadd(__half2(x, y), __half2(y, z), __half2(z, x))) TO(__half2, __heq2(__half2(x, y), __half2(y, y)))
TO(unsigned, __hlt2_mask(__half2(x, y), __half2(y, z))) TO(__half2, __h2div(__half2(x, y), __half2(y, z)))
TO(__half2, __lowhigh2highlow(__half2(x, y))) TO(__half2, __highs2half2(__half2(x, y), __half2(y, z)))
TOB(__nv_bfloat162, __hcmadd(__nv_bfloat162(x, y), __nv_bfloat162(y, z), __nv_bfloat162(z, x)))
TOB(__nv_bfloat162, __hfma2(__nv_bfloat162(x, y), __nv_bfloat162(y, z), __nv_bfloat162(z, x)))

}  // namespace

int main() {
  ask_all_entries();
  return 0;
}
