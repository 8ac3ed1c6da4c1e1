// Complex numbers as pairs.
#pragma once

#include <math.h>

#include "vector_types.h"

#define TORCHPORT_COMPLEX static __inline__ __attribute__((unused))

typedef float2 cuFloatComplex;
TORCHPORT_COMPLEX float cuCrealf(cuFloatComplex x) {
  return x.x;
}
TORCHPORT_COMPLEX float cuCimagf(cuFloatComplex x) {
  return x.y;
}
TORCHPORT_COMPLEX cuFloatComplex make_cuFloatComplex(float r, float i) {
  cuFloatComplex z;
  z.x = r;
  z.y = i;
  return z;
}
TORCHPORT_COMPLEX cuFloatComplex cuConjf(cuFloatComplex x) {
  return make_cuFloatComplex(x.x, -x.y);
}
TORCHPORT_COMPLEX cuFloatComplex cuCaddf(cuFloatComplex x, cuFloatComplex y) {
  return make_cuFloatComplex(x.x + y.x, x.y + y.y);
}
TORCHPORT_COMPLEX cuFloatComplex cuCsubf(cuFloatComplex x, cuFloatComplex y) {
  return make_cuFloatComplex(x.x - y.x, x.y - y.y);
}
TORCHPORT_COMPLEX cuFloatComplex cuCmulf(cuFloatComplex x, cuFloatComplex y) {
  return make_cuFloatComplex(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
// Both are scaled by the sum of the divisor's parts, so that its square does not overflow.
TORCHPORT_COMPLEX cuFloatComplex cuCdivf(cuFloatComplex x, cuFloatComplex y) {
  float scale = 1.0f / (fabsf(y.x) + fabsf(y.y));
  float a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;
  float inverse = 1.0f / (c * c + d * d);
  return make_cuFloatComplex((a * c + b * d) * inverse, (b * c - a * d) * inverse);
}
// The larger part times sqrt(1 + ratio^2), so that no square overflows.
TORCHPORT_COMPLEX float cuCabsf(cuFloatComplex x) {
  float a = fabsf(x.x), b = fabsf(x.y);
  float large = a > b ? a : b, small = a > b ? b : a;
  if (large == 0.0f || large > 3.402823466e38f || small > 3.402823466e38f) return large + small;
  float ratio = small / large;
  return large * sqrtf(1.0f + ratio * ratio);
}

typedef double2 cuDoubleComplex;
TORCHPORT_COMPLEX double cuCreal(cuDoubleComplex x) {
  return x.x;
}
TORCHPORT_COMPLEX double cuCimag(cuDoubleComplex x) {
  return x.y;
}
TORCHPORT_COMPLEX cuDoubleComplex make_cuDoubleComplex(double r, double i) {
  cuDoubleComplex z;
  z.x = r;
  z.y = i;
  return z;
}
TORCHPORT_COMPLEX cuDoubleComplex cuConj(cuDoubleComplex x) {
  return make_cuDoubleComplex(x.x, -x.y);
}
TORCHPORT_COMPLEX cuDoubleComplex cuCadd(cuDoubleComplex x, cuDoubleComplex y) {
  return make_cuDoubleComplex(x.x + y.x, x.y + y.y);
}
TORCHPORT_COMPLEX cuDoubleComplex cuCsub(cuDoubleComplex x, cuDoubleComplex y) {
  return make_cuDoubleComplex(x.x - y.x, x.y - y.y);
}
TORCHPORT_COMPLEX cuDoubleComplex cuCmul(cuDoubleComplex x, cuDoubleComplex y) {
  return make_cuDoubleComplex(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
// Both are scaled by the sum of the divisor's parts, so that its square does not overflow.
TORCHPORT_COMPLEX cuDoubleComplex cuCdiv(cuDoubleComplex x, cuDoubleComplex y) {
  double scale = 1.0 / (fabs(y.x) + fabs(y.y));
  double a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;
  double inverse = 1.0 / (c * c + d * d);
  return make_cuDoubleComplex((a * c + b * d) * inverse, (b * c - a * d) * inverse);
}
// The larger part times sqrt(1 + ratio^2), so that no square overflows.
TORCHPORT_COMPLEX double cuCabs(cuDoubleComplex x) {
  double a = fabs(x.x), b = fabs(x.y);
  double large = a > b ? a : b, small = a > b ? b : a;
  if (large == 0.0 || large > 1.79769313486231570e+308 || small > 1.79769313486231570e+308)
    return large + small;
  double ratio = small / large;
  return large * sqrt(1.0 + ratio * ratio);
}

typedef cuFloatComplex cuComplex;
TORCHPORT_COMPLEX cuComplex make_cuComplex(float x, float y) {
  return make_cuFloatComplex(x, y);
}
TORCHPORT_COMPLEX cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex c) {
  return make_cuDoubleComplex((double)c.x, (double)c.y);
}
TORCHPORT_COMPLEX cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex c) {
  return make_cuFloatComplex((float)c.x, (float)c.y);
}
TORCHPORT_COMPLEX cuComplex cuCfmaf(cuComplex x, cuComplex y, cuComplex d) {
  float r = x.x * y.x + d.x, i = x.x * y.y + d.y;
  return make_cuComplex(-(x.y * y.y) + r, x.y * y.x + i);
}
TORCHPORT_COMPLEX cuDoubleComplex cuCfma(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d) {
  double r = x.x * y.x + d.x, i = x.x * y.y + d.y;
  return make_cuDoubleComplex(-(x.y * y.y) + r, x.y * y.x + i);
}

#undef TORCHPORT_COMPLEX
