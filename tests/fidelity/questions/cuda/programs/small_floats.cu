// fp8, fp6 and fp4: conversions to and from them, saturating and not.
#include "told.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#if __has_include(<cuda_fp6.h>) && __has_include(<cuda_fp4.h>)
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#define HAS_SMALLER 1
#endif

namespace {

Table<float> floats() {
  std::vector<float> x = {0.0f,    -0.0f,   1.0f,     -1.0f,     448.0f,  449.0f,   463.9f,   464.0f,   464.1f,  -480.0f,
                          57344.0f, 61439.0f, 61440.0f, 65536.0f, 1e30f,   INFINITY, -INFINITY, NAN,     1.0625f, 1.0626f,
                          1.1875f, 1.125f,  1.25f,    1.375f,    0.0009765625f, 0.00097657f, 0.001953125f, 0.0029f, 0.0137f,
                          0.015625f, 7.6e-6f, 7.62939453125e-6f, 7.7e-6f, 1.5e-5f, 6.1e-5f, 28.0f, 29.9f, 30.0f, 7.5f,
                          7.75f,   8.0f,    5.0f,     6.0f,      7.0f,    0.25f,    0.26f,    0.75f,    2.5f,    3.5f};
  Numbers numbers;
  for (int i = 0; i < 15; ++i) x.push_back(numbers.unit() * (i % 3 == 0 ? 500.0f : i % 3 == 1 ? 8.0f : 0.1f));
  return {x, {}, {}};
}

Table<unsigned char> bytes() {
  std::vector<unsigned char> x;
  for (int i = 0; i < 256; ++i) x.push_back(static_cast<unsigned char>(i));
  return {x, {}, {}};
}

#define F(...) ASK(float, unsigned char, floats, __VA_ARGS__)
#define B(...) ASK(unsigned char, unsigned short, bytes, __VA_ARGS__)

__device__ unsigned short bits(__half_raw h) { return h.x; }

F(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)) F(__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3))
F(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2)) F(__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2))
F(__nv_cvt_double_to_fp8((double)x, __NV_SATFINITE, __NV_E4M3)) F(__nv_cvt_double_to_fp8((double)x, __NV_NOSAT, __NV_E5M2))
F(__nv_cvt_halfraw_to_fp8(__half(x), __NV_SATFINITE, __NV_E4M3)) F(__nv_cvt_halfraw_to_fp8(__half(x), __NV_NOSAT, __NV_E5M2))
F(__nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16(x), __NV_SATFINITE, __NV_E4M3))
F(__nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16(x), __NV_NOSAT, __NV_E5M2))
F(__nv_fp8_e4m3(x).__x) F(__nv_fp8_e5m2(x).__x) F(__nv_fp8_e4m3((int)(x < 1e5f && x > -1e5f ? x : 7)).__x)
F(__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero)) F(__nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundPosInf))
F(__nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundZero))
ASK(float, unsigned short, floats, __nv_cvt_float2_to_fp8x2(make_float2(x, -2.0f * x), __NV_SATFINITE, __NV_E4M3))
ASK(float, unsigned, floats, __nv_fp8x4_e4m3(make_float4(x, -x, 2.0f * x, 0.5f * x)).__x)
ASK(float, unsigned, floats, __nv_fp8x4_e5m2(make_float4(x, -x, 2.0f * x, 0.5f * x)).__x)
B(bits(__nv_cvt_fp8_to_halfraw(x, __NV_E4M3))) B(bits(__nv_cvt_fp8_to_halfraw(x, __NV_E5M2)))
B(__nv_cvt_e8m0_to_bf16raw(x).x)

__device__ float e4m3(unsigned char x) {
  __nv_fp8_e4m3 value;
  value.__x = x;
  return static_cast<float>(value);
}
__device__ float e5m2(unsigned char x) {
  __nv_fp8_e5m2 value;
  value.__x = x;
  return static_cast<float>(value);
}
ASK(unsigned char, float, bytes, e4m3(x)) ASK(unsigned char, float, bytes, e5m2(x))
ASK(unsigned char, int, bytes, (int)e4m3(x))
#ifdef HAS_SMALLER
F(__nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest)) F(__nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest))
F(__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)) F(__nv_cvt_halfraw_to_fp6(__half(x), __NV_E3M2, cudaRoundNearest))
F(__nv_cvt_double_to_fp4((double)x, __NV_E2M1, cudaRoundNearest))
F(__nv_cvt_float2_to_fp4x2(make_float2(x, -x), __NV_E2M1, cudaRoundNearest))
B(bits(__nv_cvt_fp6_to_halfraw(x & 63, __NV_E2M3))) B(bits(__nv_cvt_fp6_to_halfraw(x & 63, __NV_E3M2)))
B(bits(__nv_cvt_fp4_to_halfraw(x & 15, __NV_E2M1)))
#endif

}  // namespace

int main() {
  ask_all_entries();
  return 0;
}
