// Filters of pictures: means of squares (nearest neighbours and non-local), a bilateral one, a
// median in registers, a box filter by running sums and the luminance of colours.
#include <algorithm>

#include "sample.h"

__constant__ float gaussian[7];

__device__ float sample(const float* in, int w, int h, int x, int y) {
  x = min(max(x, 0), w - 1), y = min(max(y, 0), h - 1);
  return __ldg(&in[y * w + x]);
}

__global__ void non_local(float* out, const float* in, int w, int h, float noise) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float weights = 0, sum = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      float distance = 0;
      for (int v = -1; v <= 1; ++v)
        for (int u = -1; u <= 1; ++u) {
          const float d = sample(in, w, h, x + dx + u, y + dy + v) - sample(in, w, h, x + u, y + v);
          distance += d * d;
        }
      const float weight = __expf(-(distance * noise + (dx * dx + dy * dy) * 0.04f));
      weights += weight, sum += weight * sample(in, w, h, x + dx, y + dy);
    }
  out[y * w + x] = sum / weights;
}

__global__ void bilateral(float* out, const float* in, int w, int h, float spread) {
  __shared__ float tile[8 + 6][16 + 6];
  const int x0 = blockIdx.x * 16 - 3, y0 = blockIdx.y * 8 - 3;
  for (int y = threadIdx.y; y < 14; y += 8)
    for (int x = threadIdx.x; x < 22; x += 16) tile[y][x] = sample(in, w, h, x0 + x, y0 + y);
  __syncthreads();
  const int x = x0 + 3 + threadIdx.x, y = y0 + 3 + threadIdx.y;
  if (x >= w || y >= h) return;
  const float centre = tile[threadIdx.y + 3][threadIdx.x + 3];
  float weights = 0, sum = 0;
#pragma unroll
  for (int dy = 0; dy < 7; ++dy)
#pragma unroll
    for (int dx = 0; dx < 7; ++dx) {
      const float value = tile[threadIdx.y + dy][threadIdx.x + dx], d = value - centre;
      const float weight = gaussian[dx] * gaussian[dy] * expf(-d * d * spread);
      weights += weight, sum = fmaf(weight, value, sum);
    }
  out[y * w + x] = __fdividef(sum, weights);
}

__device__ inline void order(float& a, float& b) {
  const float low = fminf(a, b);
  b = fmaxf(a, b), a = low;
}
__global__ void median(float* out, const float* in, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float v[9];
#pragma unroll
  for (int i = 0; i < 9; ++i) v[i] = sample(in, w, h, x + i % 3 - 1, y + i / 3 - 1);
#pragma unroll
  for (int i = 0; i < 5; ++i)
#pragma unroll
    for (int j = 7; j >= i; --j) order(v[j], v[j + 1]);
  out[y * w + x] = v[4];
}

__global__ void box_rows(float* out, const float* in, int w, int h, int r) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= h) return;
  float sum = sample(in, w, h, 0, y) * r;
  for (int x = 0; x <= r; ++x) sum += sample(in, w, h, x, y);
  for (int x = 0; x < w; ++x) {
    out[y * w + x] = sum / (2 * r + 1);
    sum += sample(in, w, h, x + r + 1, y) - sample(in, w, h, x - r, y);
  }
}

__global__ void luminance(float* out, const uchar4* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (0.299f * in[i].x + 0.587f * in[i].y + 0.114f * in[i].z) / 255.0f;
}

int main() {
  const int w = 50, h = 36, r = 4;
  std::vector<uchar4> colours(w * h);
  std::vector<float> picture(w * h), expected(w * h);
  Numbers numbers(157);
  for (int i = 0; i < w * h; ++i) {
    colours[i] = make_uchar4(numbers.next() % 256, (i % w) * 5, numbers.next() % 256, 255);
    picture[i] = (0.299f * colours[i].x + 0.587f * colours[i].y + 0.114f * colours[i].z) / 255.0f;
  }
  auto at = [&](int x, int y) {
    return picture[std::min(std::max(y, 0), h - 1) * w + std::min(std::max(x, 0), w - 1)];
  };
  float weights[7];
  for (int i = 0; i < 7; ++i) weights[i] = std::exp(-(i - 3) * (i - 3) / 8.0f);
  CHECK(cudaMemcpyToSymbol(gaussian, weights, sizeof(weights)));
  Array<uchar4> c(colours);
  Array<float> in(w * h), out(w * h);
  luminance<<<(w * h + 255) / 256, 256>>>(in, c, w * h);
  bool right = all_close(in.host(), picture, 1e-6);
  const dim3 block(16, 8), grid((w + 15) / 16, (h + 7) / 8);
  auto each = [&](auto function) {
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) expected[y * w + x] = float(function(x, y));
    return all_close(out.host(), expected, 1e-4);
  };
  non_local<<<grid, block>>>(out, in, w, h, 3.0f);
  right = right && each([&](int x, int y) {
            double all = 0, sum = 0;
            for (int dy = -2; dy <= 2; ++dy)
              for (int dx = -2; dx <= 2; ++dx) {
                double distance = 0;
                for (int v = -1; v <= 1; ++v)
                  for (int u = -1; u <= 1; ++u)
                    distance += std::pow(at(x + dx + u, y + dy + v) - at(x + u, y + v), 2);
                const double weight = std::exp(-(distance * 3 + (dx * dx + dy * dy) * 0.04));
                all += weight, sum += weight * at(x + dx, y + dy);
              }
            return sum / all;
          });
  bilateral<<<grid, block>>>(out, in, w, h, 5.0f);
  right = right && each([&](int x, int y) {
            double all = 0, sum = 0;
            for (int dy = -3; dy <= 3; ++dy)
              for (int dx = -3; dx <= 3; ++dx) {
                const double d = at(x + dx, y + dy) - at(x, y),
                             weight = weights[dx + 3] * weights[dy + 3] * std::exp(-d * d * 5);
                all += weight, sum += weight * at(x + dx, y + dy);
              }
            return sum / all;
          });
  median<<<grid, block>>>(out, in, w, h);
  right = right && each([&](int x, int y) {
            float v[9];
            for (int i = 0; i < 9; ++i) v[i] = at(x + i % 3 - 1, y + i / 3 - 1);
            std::sort(v, v + 9);
            return v[4];
          });
  box_rows<<<2, 32>>>(out, in, w, h, r);
  right = right && each([&](int x, int y) {
            double sum = 0;
            for (int d = -r; d <= r; ++d) sum += at(x + d, y);
            return sum / (2 * r + 1);
          });
  return finish("denoise", right);
}
