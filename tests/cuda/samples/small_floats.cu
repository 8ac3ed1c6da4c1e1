// Conversions between floats of 8, 16 and 32 bits: all bytes there and back, saturation, rounding.
#include <cstdint>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "sample.h"

template <class F8>
__global__ void there_and_back(const uint8_t* in, float* wide, uint8_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  F8 value;
  value.__x = in[i];
  wide[i] = float(value);
  out[i] = F8(wide[i]).__x;
}

__global__ void halves(const uint16_t* in, float* wide, uint16_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  wide[i] = __half2float(__ushort_as_half(in[i]));
  out[i] = __half_as_ushort(__float2half_rn(wide[i]));
}

__global__ void scale(const float* in, __nv_fp8x4_e4m3* out, float* back, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = reinterpret_cast<const float4*>(in)[i];
  out[i] = __nv_fp8x4_e4m3(make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor));
  const float4 b = float4(out[i]);
  reinterpret_cast<float4*>(back)[i] =
      make_float4(b.x / factor, b.y / factor, b.z / factor, b.w / factor);
}

__global__ void roundings(float* out) {
  const float x = 1.00146484375f;  // between two halves
  out[0] = __half2float(__float2half_rn(x)), out[1] = __half2float(__float2half_ru(x));
  out[2] = __half2float(__float2half_rd(x)), out[3] = __half2float(__float2half_rz(-x));
  out[4] = __bfloat162float(__float2bfloat16_rn(1.005f)),
  out[5] = __bfloat162float(__float2bfloat16_ru(1.001f));
  out[6] = float(__half2int_rn(__float2half(2.5f))), out[7] = __half2float(__int2half_rn(2049));
  out[8] = __half2float(__float2half(70000.0f)), out[9] = float(__nv_fp8_e4m3(1000.0f));
  out[10] = float(__nv_fp8_e5m2(1e9f)),
  out[11] = __half2float(__half(__nv_cvt_fp8_to_halfraw(0x3c, __NV_E5M2)));
  out[12] = float(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E5M2));
  const __half2 two = __halves2half2(__float2half(1), __float2half(-0.75f));
  out[13] = __low2float(__lowhigh2highlow(two));
}

int main() {
  std::vector<uint8_t> bytes(256);
  std::vector<uint16_t> words(65536);
  for (int i = 0; i < 256; ++i) bytes[i] = uint8_t(i);
  for (int i = 0; i < 65536; ++i) words[i] = uint16_t(i);
  Array<uint8_t> in(bytes), out(256);
  Array<float> wide(256), wide_half(65536), some(14);
  Array<uint16_t> hin(words), hout(65536);
  bool right = true;
  there_and_back<__nv_fp8_e4m3><<<2, 128>>>(in, wide, out);
  auto values = wide.host();
  auto back = out.host();
  for (int i = 0; i < 256; ++i) {
    const int exponent = i >> 3 & 15, mantissa = i & 7;
    const double size =
        exponent ? std::ldexp(8 + mantissa, exponent - 10) : std::ldexp(mantissa, -9);
    right = right && ((i & 127) == 127 ? std::isnan(values[i])
                                       : values[i] == (i & 128 ? -size : size) && back[i] == i);
  }
  there_and_back<__nv_fp8_e5m2><<<2, 128>>>(in, wide, out);
  values = wide.host(), back = out.host();
  for (int i = 0; i < 256; ++i) {
    const int exponent = i >> 2 & 31, mantissa = i & 3;
    const double size =
        exponent ? std::ldexp(4 + mantissa, exponent - 17) : std::ldexp(mantissa, -16);
    if (exponent < 31)
      right = right && values[i] == (i & 128 ? -size : size) && back[i] == i;
    else
      right = right && (mantissa ? std::isnan(values[i]) : std::isinf(values[i]));
  }
  halves<<<256, 256>>>(hin, wide_half, hout);
  const auto h = hout.host();
  const auto w = wide_half.host();
  for (int i = 0; i < 65536; ++i)
    right = right && ((i & 0x7c00) == 0x7c00 && (i & 0x3ff) ? std::isnan(w[i]) : h[i] == i);
  const int n = 64;
  std::vector<float> reals(4 * n);
  Numbers numbers(167);
  float most = 0;
  for (float& one : reals) one = numbers.real(-3, 3), most = std::max(most, std::fabs(one));
  Array<float> dr(reals), db(4 * n);
  Array<__nv_fp8x4_e4m3> packed(n);
  scale<<<1, 64>>>(dr, packed, db, 448.0f / most, n);
  const auto b = db.host();
  for (int i = 0; i < 4 * n; ++i)
    right = right && std::fabs(b[i] - reals[i]) <= std::fabs(reals[i]) / 16 + 1e-4;
  roundings<<<1, 1>>>(some);
  const auto s = some.host();
  const float expected[14] = {
      1.001953125f, 1.001953125f, 1.0009765625f, -1.0009765625f, 1.0078125f, 1.0078125f, 2,
      2048,         INFINITY,     448,           57344,          1,          0x7c,       -0.75f};
  for (int i = 0; i < 14; ++i)
    if (s[i] != expected[i]) {
      std::fprintf(stderr, "rounding %d: %g, not %g\n", i, s[i], expected[i]);
      right = false;
    }
  return finish("small_floats", right);
}
