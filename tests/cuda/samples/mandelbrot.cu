// Mandelbrot's set by blocks that fetch tiles until none is left, in float, double and two floats.
#include "sample.h"

template <class T>
__device__ int iterations(T cx, T cy, int most) {
  T x = 0, y = 0, xx = 0, yy = 0;
  int i = 0;
  for (; i < most && xx + yy <= T(4); ++i) {
    y = x * y * T(2) + cy;
    x = xx - yy + cx;
    xx = x * x, yy = y * y;
  }
  return i;
}

// A number as the sum of two floats.
struct Two {
  float high, low;
};
__device__ Two add(Two a, Two b) {
  const float t1 = __fadd_rn(a.high, b.high), e = __fsub_rn(t1, a.high);
  const float t2 = __fadd_rn(
      __fadd_rn(__fadd_rn(__fsub_rn(b.high, e), __fsub_rn(a.high, __fsub_rn(t1, e))), a.low),
      b.low);
  const float high = __fadd_rn(t1, t2);
  return {high, __fsub_rn(t2, __fsub_rn(high, t1))};
}
__device__ Two multiply(Two a, Two b) {
  const float p = __fmul_rn(a.high, b.high), e = __fmaf_rn(a.high, b.high, -p);
  const float t = __fadd_rn(e, __fadd_rn(__fmul_rn(a.high, b.low), __fmul_rn(a.low, b.high)));
  const float high = __fadd_rn(p, t);
  return {high, __fsub_rn(t, __fsub_rn(high, p))};
}
__device__ Two split(double value) {
  const float high = __double2float_rn(value);
  return {high, float(value - double(high))};
}
__device__ int iterations_of_two(double cx, double cy, int most) {
  Two x = {}, y = {};
  const Two c = split(cx), d = split(cy);
  int i = 0;
  for (; i < most; ++i) {
    const Two xx = multiply(x, x), yy = multiply(y, y);
    if (xx.high + yy.high > 4) break;
    const Two xy = multiply(x, y);
    y = add(add(xy, xy), d);
    x = add(add(xx, {-yy.high, -yy.low}), c);
  }
  return i;
}

__device__ unsigned next_tile = 0;

template <int kKind>
__global__ void draw(int* out, int width, int height, double left, double top, double step,
                     int most) {
  __shared__ unsigned tile;
  const unsigned tiles_x = (width + 15) / 16, tiles = tiles_x * ((height + 7) / 8);
  while (true) {
    if (threadIdx.x == 0 && threadIdx.y == 0) tile = atomicAdd(&next_tile, 1);
    __syncthreads();
    const unsigned mine = tile;
    __syncthreads();
    if (mine >= tiles) break;
    const int x = mine % tiles_x * 16 + threadIdx.x, y = mine / tiles_x * 8 + threadIdx.y;
    if (x >= width || y >= height) continue;
    const double cx = left + x * step, cy = top + y * step;
    out[y * width + x] = kKind == 0   ? iterations<float>(cx, cy, most)
                         : kKind == 1 ? iterations<double>(cx, cy, most)
                                      : iterations_of_two(cx, cy, most);
  }
}

int main() {
  const int width = 100, height = 70, most = 80;
  const double left = -2.1, top = -1.05, step = 0.03;
  std::vector<int> expected(width * height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double a = 0, b = 0;
      int i = 0;
      for (; i < most && a * a + b * b <= 4; ++i) {
        const double t = a * a - b * b + left + x * step;
        b = 2 * a * b + top + y * step, a = t;
      }
      expected[y * width + x] = i;
    }
  Array<int> out(width * height);
  bool right = true;
  for (int kind = 0; kind < 3; ++kind) {
    const unsigned zero = 0;
    CHECK(cudaMemcpyToSymbol(next_tile, &zero, sizeof(zero)));
    auto kernel = kind == 0 ? draw<0> : kind == 1 ? draw<1> : draw<2>;
    out.clear();
    kernel<<<5, dim3(16, 8)>>>(out, width, height, left, top, step, most);
    const auto found = out.host();
    int different = 0;
    for (int i = 0; i < width * height; ++i) different += found[i] != expected[i];
    right = right && different <= (kind == 0 ? width * height / 50 : width * height / 500);
  }
  return finish("mandelbrot", right);
}
