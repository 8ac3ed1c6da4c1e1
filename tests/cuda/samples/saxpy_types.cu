// a x + y and dot products in all types of numbers, with atomics of each type.
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "sample.h"

template <class T>
__global__ void axpy(int n, T a, const T* x, T* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
template <class T, class Sum>
__global__ void dot(int n, const T* x, const T* y, Sum* out) {
  __shared__ Sum partial;
  if (threadIdx.x == 0) partial = Sum(0);
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&partial, Sum(x[i] * y[i]));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, partial);
}
__global__ void complex_axpy(int n, cuDoubleComplex a, const cuDoubleComplex* x,
                             cuDoubleComplex* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cuCfma(a, x[i], y[i]);
}
__global__ void vector_types(int n, const float4* x, double2* y, short4* s) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = __ldg(&x[i]);
  y[i] = make_double2(double(v.x) + v.y, double(v.z) * v.w);
  s[i] = make_short4(__float2int_rd(v.x), __float2int_ru(v.y), __float2int_rn(v.z),
                     __float2int_rz(v.w));
}
// The greatest float by compare and swap.
__device__ float atomic_max(float* at, float value) {
  int* bits = reinterpret_cast<int*>(at);
  int old = *bits, assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= value) break;
    old = atomicCAS(bits, assumed, __float_as_int(value));
  } while (assumed != old);
  return __int_as_float(old);
}
__global__ void greatest(int n, const float* x, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(out, x[i]);
}

template <class T, class Sum>
bool test() {
  const int n = 500;
  std::vector<T> x(n), y(n);
  std::vector<float> expected(n);
  Numbers numbers(149);
  double product = 0;
  for (int i = 0; i < n; ++i) {
    const float a = int(numbers.next() % 5) - 2, b = int(numbers.next() % 3) - 1;
    x[i] = T(a), y[i] = T(b);
    product += a * b;
    expected[i] = 3 * a + b;
  }
  Array<T> dx(x), dy(y);
  Array<Sum> out(1);
  out.clear();
  dot<T, Sum><<<3, 64>>>(n, dx, dy, out);
  axpy<T><<<3, 64>>>(n, T(3.0f), dx, dy);
  const auto result = dy.host();
  for (int i = 0; i < n; ++i)
    if (float(result[i]) != expected[i]) return false;
  return float(out.host()[0]) == float(product);
}

int main() {
  bool right = test<float, float>() && test<double, double>() && test<half, half>() &&
               test<half, float>() && test<__nv_bfloat16, float>() && test<int, int>();
  const int n = 200;
  std::vector<cuDoubleComplex> x(n), y(n);
  std::vector<float4> v(n);
  std::vector<float> f(n);
  Numbers numbers(151);
  for (int i = 0; i < n; ++i) {
    x[i] = make_cuDoubleComplex(i, -i), y[i] = make_cuDoubleComplex(1, i);
    v[i] = make_float4(numbers.real(-9, 9), numbers.real(-9, 9), numbers.real(-9, 9),
                       numbers.real(-9, 9));
    f[i] = numbers.real(-3, -1);
  }
  Array<cuDoubleComplex> dx(x), dy(y);
  complex_axpy<<<2, 128>>>(n, make_cuDoubleComplex(2, 3), dx, dy);
  const auto c = dy.host();
  for (int i = 0; i < n; ++i) right = right && cuCreal(c[i]) == 5 * i + 1 && cuCimag(c[i]) == 2 * i;
  Array<float4> dv(v);
  Array<double2> d2(n);
  Array<short4> s4(n);
  vector_types<<<2, 128>>>(n, dv, d2, s4);
  const auto d = d2.host();
  const auto s = s4.host();
  for (int i = 0; i < n; ++i)
    right = right && d[i].x == double(v[i].x) + v[i].y && d[i].y == double(v[i].z) * v[i].w &&
            s[i].x == short(std::floor(v[i].x)) && s[i].y == short(std::ceil(v[i].y)) &&
            s[i].z == short(std::nearbyint(v[i].z)) && s[i].w == short(v[i].w);
  Array<float> df(f), most(std::vector<float>{-100});
  greatest<<<2, 128>>>(n, df, most);
  float expected = -100;
  for (float one : f) expected = std::max(expected, one);
  return finish("saxpy_types", right && most.host()[0] == expected);
}
