// Arithmetic of intervals by functions that round up and down: Newton's method that encloses a
// root.
#include "sample.h"

template <class T>
struct Rounded;
template <>
struct Rounded<float> {
  static __device__ float add_down(float a, float b) { return __fadd_rd(a, b); }
  static __device__ float add_up(float a, float b) { return __fadd_ru(a, b); }
  static __device__ float multiply_down(float a, float b) { return __fmul_rd(a, b); }
  static __device__ float multiply_up(float a, float b) { return __fmul_ru(a, b); }
  static __device__ float divide_down(float a, float b) { return __fdiv_rd(a, b); }
  static __device__ float divide_up(float a, float b) { return __fdiv_ru(a, b); }
};
template <>
struct Rounded<double> {
  static __device__ double add_down(double a, double b) { return __dadd_rd(a, b); }
  static __device__ double add_up(double a, double b) { return __dadd_ru(a, b); }
  static __device__ double multiply_down(double a, double b) { return __dmul_rd(a, b); }
  static __device__ double multiply_up(double a, double b) { return __dmul_ru(a, b); }
  static __device__ double divide_down(double a, double b) { return __ddiv_rd(a, b); }
  static __device__ double divide_up(double a, double b) { return __ddiv_ru(a, b); }
};

template <class T>
struct Interval {
  T low, high;
};
template <class T>
__device__ Interval<T> operator+(Interval<T> a, Interval<T> b) {
  return {Rounded<T>::add_down(a.low, b.low), Rounded<T>::add_up(a.high, b.high)};
}
template <class T>
__device__ Interval<T> operator-(Interval<T> a, Interval<T> b) {
  return a + Interval<T>{-b.high, -b.low};
}
template <class T>
__device__ Interval<T> operator*(Interval<T> a, Interval<T> b) {
  using R = Rounded<T>;
  return {fmin(fmin(R::multiply_down(a.low, b.low), R::multiply_down(a.low, b.high)),
               fmin(R::multiply_down(a.high, b.low), R::multiply_down(a.high, b.high))),
          fmax(fmax(R::multiply_up(a.low, b.low), R::multiply_up(a.low, b.high)),
               fmax(R::multiply_up(a.high, b.low), R::multiply_up(a.high, b.high)))};
}
template <class T>
__device__ Interval<T> operator/(Interval<T> a, Interval<T> b) {  // b is positive
  using R = Rounded<T>;
  return {R::divide_down(a.low, a.low < 0 ? b.low : b.high),
          R::divide_up(a.high, a.high < 0 ? b.high : b.low)};
}

// The square root of each number of the array, as an interval.
template <class T>
__global__ void roots(const T* in, Interval<T>* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Interval<T> square{in[i], in[i]}, two{2, 2};
  Interval<T> x{T(0.5), in[i] + 1};
  for (int round = 0; round < 60; ++round) {
    const T middle = x.low / 2 + x.high / 2;
    const Interval<T> m{middle, middle};
    const Interval<T> next = m - (m * m - square) / (two * x);
    const Interval<T> narrow{fmax(next.low, x.low), fmin(next.high, x.high)};
    if (!(narrow.high - narrow.low < x.high - x.low)) break;
    x = narrow;
  }
  out[i] = x;
}

__global__ void directions(float* out) {
  out[0] = __fsqrt_ru(2.0f), out[1] = __fsqrt_rd(2.0f), out[2] = __frcp_ru(3.0f),
  out[3] = __frcp_rd(3.0f);
  out[4] = __fmaf_ru(0.1f, 0.1f, 1.0f), out[5] = __fmaf_rz(-0.1f, 0.1f, -1.0f);
  out[6] = __double2float_ru(0.1), out[7] = __double2float_rd(0.1),
  out[8] = __int2float_ru(16777217), out[9] = __int2float_rz(16777217);
}

template <class T>
bool test(double width) {
  const int n = 300;
  std::vector<T> values(n);
  Numbers numbers(163);
  for (T& value : values) value = T(1) + T(numbers.next() % 100000) / 997;
  Array<T> in(values);
  Array<Interval<T>> out(n);
  roots<T><<<3, 128>>>(in, out, n);
  const auto found = out.host();
  for (int i = 0; i < n; ++i) {
    const long double root = sqrtl((long double)values[i]);
    if (!(found[i].low <= root && root <= found[i].high &&
          found[i].high - found[i].low <= width * double(root)))
      return false;
  }
  return true;
}

int main() {
  Array<float> rounded(10);
  directions<<<1, 1>>>(rounded);
  const auto r = rounded.host();
  bool right = double(r[0]) * r[0] > 2 && double(r[1]) * r[1] < 2 &&
               std::nextafterf(r[1], 2) == r[0] && 3.0 * r[2] > 1 && 3.0 * r[3] < 1 &&
               std::nextafterf(r[3], 1) == r[2] && r[4] > 1 + double(0.1f) * 0.1f &&
               r[5] > -1 - double(0.1f) * 0.1f && r[6] > 0.1 && r[7] < 0.1 && r[8] == 16777218 &&
               r[9] == 16777216;
  return finish("intervals", right && test<float>(1e-6) && test<double>(1e-14));
}
