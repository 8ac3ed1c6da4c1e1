// Fourier transforms in shared memory (Stockham, radix 2 and 4), a convolution by them, and
// Walsh's.
#include <complex>

#include "sample.h"

__device__ inline float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ inline float2 operator+(float2 a, float2 b) {
  return make_float2(a.x + b.x, a.y + b.y);
}
__device__ inline float2 operator-(float2 a, float2 b) {
  return make_float2(a.x - b.x, a.y - b.y);
}

template <int kSize>
__device__ void transform(float2 (&buffer)[2][kSize], int& from, float sign) {
  for (int half = 1; half < kSize; half *= 2) {
    __syncthreads();
    for (int i = threadIdx.x; i < kSize / 2; i += blockDim.x) {
      const int k = i % half;
      float s, c;
      sincospif(sign * k / half, &s, &c);
      const float2 a = buffer[from][i], b = make_float2(c, s) * buffer[from][i + kSize / 2];
      const int to = (i / half) * 2 * half + k;
      buffer[1 - from][to] = a + b;
      buffer[1 - from][to + half] = a - b;
    }
    from = 1 - from;
  }
  __syncthreads();
}

template <int kSize>
__global__ void fft(float2* data) {
  __shared__ float2 buffer[2][kSize];
  float2* mine = data + blockIdx.x * kSize;
  for (int i = threadIdx.x; i < kSize; i += blockDim.x) buffer[0][i] = mine[i];
  int from = 0;
  transform<kSize>(buffer, from, -1);
  for (int i = threadIdx.x; i < kSize; i += blockDim.x) mine[i] = buffer[from][i];
}

template <int kSize>
__global__ void convolve(float* out, const float* a, const float* b) {
  __shared__ float2 left[2][kSize], right[2][kSize];
  for (int i = threadIdx.x; i < kSize; i += blockDim.x)
    left[0][i] = make_float2(a[i], 0), right[0][i] = make_float2(b[i], 0);
  int x = 0, y = 0;
  transform<kSize>(left, x, -1);
  transform<kSize>(right, y, -1);
  for (int i = threadIdx.x; i < kSize; i += blockDim.x) {
    const float2 product = left[x][i] * right[y][i];
    left[x][i] = make_float2(product.x / kSize, product.y / kSize);
  }
  transform<kSize>(left, x, 1);
  for (int i = threadIdx.x; i < kSize; i += blockDim.x) out[i] = left[x][i].x;
}

__global__ void walsh(int* data, int log2n) {
  extern __shared__ int s[];
  const int n = 1 << log2n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = data[i];
  for (int stride = n / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
      const int low = i & (stride - 1), at = ((i - low) << 1) + low;
      const int a = s[at], b = s[at + stride];
      s[at] = a + b, s[at + stride] = a - b;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = s[i];
}

int main() {
  constexpr int n = 256;
  Numbers numbers(127);
  std::vector<float2> signal(2 * n);
  for (float2& one : signal) one = make_float2(numbers.real(-1, 1), numbers.real(-1, 1));
  Array<float2> data(signal);
  fft<n><<<2, 64>>>(data);
  const auto spectrum = data.host();
  bool right = true;
  for (int row = 0; row < 2; ++row)
    for (int k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < n; ++i)
        sum += std::complex<double>(signal[row * n + i].x, signal[row * n + i].y) *
               std::polar(1.0, -2 * M_PI * ((i * k) % n) / n);
      right = right && close(spectrum[row * n + k].x, sum.real(), 1e-4) &&
              close(spectrum[row * n + k].y, sum.imag(), 1e-4);
    }
  std::vector<float> a(n), b(n), expected(n);
  for (int i = 0; i < n; ++i) a[i] = numbers.real(), b[i] = i < 9 ? numbers.real() : 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 9; ++k) expected[i] += b[k] * a[(i - k + n) % n];
  Array<float> da(a), db(b), out(n);
  convolve<n><<<1, 128>>>(out, da, db);
  right = right && all_close(out.host(), expected, 1e-4);
  std::vector<int> values(64), signs(64);
  for (int& one : values) one = int(numbers.next() % 21) - 10;
  for (int k = 0; k < 64; ++k)
    for (int i = 0; i < 64; ++i) signs[k] += __builtin_popcount(i & k) % 2 ? -values[i] : values[i];
  Array<int> w(values);
  walsh<<<1, 16, 64 * sizeof(int)>>>(w, 6);
  return finish("fft_shared", right && w.host() == signs);
}
