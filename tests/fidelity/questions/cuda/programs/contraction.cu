// Which plain expressions the compiler contracts to fused ones: bits. Compiled with several flags.
#include "told.h"

#include <cuComplex.h>

namespace {

// Products of these are not exact, so that each contraction shows.
Table<float> floats() {
  Table<float> t;
  Numbers numbers;
  for (int i = 0; i < 16; ++i) {
    t.x.push_back(1.0f + numbers.unit() * 0.3f), t.y.push_back(1.0f + numbers.unit() * 0.3f);
    t.z.push_back(-t.x[i] * t.y[i] * (i % 2 ? 1.0f : 0.7f));
  }
  t.x.push_back(1e-20f), t.y.push_back(1e-20f), t.z.push_back(1e-39f);
  t.x.push_back(3e-30f), t.y.push_back(1.1e-9f), t.z.push_back(-1e-39f);
  t.x.push_back(1e-39f), t.y.push_back(3.0f), t.z.push_back(2e-38f);
  t.x.push_back(1.5e-38f), t.y.push_back(0.3f), t.z.push_back(-4e-39f);
  return t;
}
Table<double> doubles() {
  Table<double> t;
  Numbers numbers;
  for (int i = 0; i < 12; ++i) {
    t.x.push_back(1.0 + numbers.unit() * 0.3 + numbers.unit() * 1e-9), t.y.push_back(1.0 + numbers.unit() * 1e-8);
    t.z.push_back(-t.x[i] * t.y[i]);
  }
  return t;
}

__device__ float dot(float x, float y, float z) {
  float a[4] = {x, y, z, 1.1f}, b[4] = {z, x, y, x}, sum = 0;
  for (int i = 0; i < 4; ++i) sum += a[i] * b[i];
  return sum;
}
__device__ float polynomial(float x) { return ((0.3f * x + 0.7f) * x + 1.1f) * x + 0.9f; }
__device__ float named(float x, float y, float z) {
  float product = x * y;
  float sum = product + z;
  return sum + product * 0.25f;
}
__device__ cuFloatComplex c(float x, float y) { return make_cuFloatComplex(x, y); }

#define F(...) ASK(float, float, floats, __VA_ARGS__)
#define D(...) ASK(double, double, doubles, __VA_ARGS__)
F(x) F(y) F(z)
F(x * y + z) F(z + x * y) F(x * y - z) F(z - x * y) F(-(x * y) + z) F(-(x * y) - z) F(x * y - y * z) F(x * y + y * z)
F(x * y - z * z + x) F((x * y) + (z * x) - (y * z)) F(x * x - y * y) F((x - y) * (x + y)) F(x * y * z + x) F(x * (y + z))
F(x * (y + 1.0f)) F((x + 1.0f) * y) F(x * 2.0f + y) F(x * 0.1f + 0.9f * y) F((1.0f - x) * y + x * z) F(x + y + z)
F(x * y + 0.0f) F(__fmul_rn(x, y) + z) F(__fadd_rn(x * y, z)) F(x / y + z) F(x / y) F(1.0f / x) F(sqrtf(x * x + y * y))
F(1.0f / sqrtf(x * x + y * y)) F(sqrtf(x < 0 ? -x : x)) F(dot(x, y, z)) F(polynomial(x)) F(named(x, y, z)) F(x * y)
F(x + z) F(x * 0.5f) F(fabsf(z) * 0.01f) F(expf(x) * y + z) F((float)((double)x * y + z)) F(x > y ? x * y + z : x * z + y)
F(cuCmulf(c(x, y), c(y, z)).x) F(cuCmulf(c(x, y), c(y, z)).y) F(cuCdivf(c(x, y), c(y, z)).x) F(cuCdivf(c(x, y), c(y, z)).y)
F(cuCabsf(c(x, z))) F(fmaxf(x, 1e-39f)) F(z < 1e-38f && z > 0 ? 1.0f : 0.0f) F(floorf(x * 1e6f) * 1e-6f - x)
F(powf(x, 3.0f)) F(x * x * x) F(x - truncf(x / 0.1f) * 0.1f) F(fmodf(x, 0.1f))
D(x) D(y) D(z) D(x * y + z) D(x * y - z) D(z - x * y) D(x * y - y * z) D(x * x - y * y) D(x * 0.1 + 0.9 * y) D(sqrt(x * x + y * y))
D((1.0 - x) * y + x * z) D(x / y + z) D(cuCmul(make_cuDoubleComplex(x, y), make_cuDoubleComplex(y, z)).x)

}  // namespace

int main() {
  ask_all_entries();
  return 0;
}
