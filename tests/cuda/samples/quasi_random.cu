// Sobol's points of several dimensions, each block a dimension, in Gray code; van der Corput's
// numbers with __brev; and the inverse of the normal distribution.
#include "sample.h"

constexpr int kDimensions = 4;

__global__ void sobol(const unsigned* directions, float* out, int n) {
  __shared__ unsigned v[32];
  if (threadIdx.x < 32) v[threadIdx.x] = directions[blockIdx.y * 32 + threadIdx.x];
  __syncthreads();
  float* mine = out + blockIdx.y * n;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const int log_of_stride = __ffs(stride) - 1;
  const unsigned gray = first ^ (first >> 1);
  unsigned x = 0;
  for (int k = 0; k <= __ffs(stride); ++k) {
    const unsigned mask = -((gray >> k) & 1u);
    x ^= mask & v[k];
  }
  if (first < n) mine[first] = x * 0x1p-32f;
  const unsigned jump = v[log_of_stride - 1];
  for (int i = first + stride; i < n; i += stride) {
    x ^= jump ^ v[__ffs(~(unsigned(i - stride) | (stride - 1))) - 1];
    mine[i] = x * 0x1p-32f;
  }
}

__global__ void van_der_corput(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __uint2float_rz(__brev(i)) * 0x1p-32f;
}

__global__ void normals(double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = normcdf(normcdfinv((i + 0.5) / n)) -
             (0.5 * erfc(-normcdfinv((i + 0.5) / n) * 0.70710678118654752));
}

int main() {
  // Joe and Kuo's primitive polynomials of the first dimensions.
  const unsigned degree[kDimensions] = {0, 1, 2, 3}, a[kDimensions] = {0, 0, 1, 1};
  const unsigned m[kDimensions][3] = {{}, {1}, {1, 3}, {1, 3, 1}};
  std::vector<unsigned> directions(kDimensions * 32);
  for (int d = 0; d < kDimensions; ++d) {
    unsigned* v = &directions[d * 32];
    const unsigned s = degree[d];
    for (unsigned i = 0; i < 32; ++i) {
      if (d == 0) {
        v[i] = 1u << (31 - i);
      } else if (i < s) {
        v[i] = m[d][i] << (31 - i);
      } else {
        v[i] = v[i - s] ^ (v[i - s] >> s);
        for (unsigned k = 1; k < s; ++k) v[i] ^= ((a[d] >> (s - 1 - k)) & 1) * v[i - k];
      }
    }
  }
  const int n = 3000;
  std::vector<float> expected(kDimensions * n);
  for (int d = 0; d < kDimensions; ++d)
    for (int i = 0; i < n; ++i) {
      unsigned x = 0;
      const unsigned gray = i ^ (i >> 1);
      for (int k = 0; k < 32; ++k)
        if (gray >> k & 1) x ^= directions[d * 32 + k];
      expected[d * n + i] = x * 0x1p-32f;
    }
  Array<unsigned> v(directions);
  Array<float> out(kDimensions * n), corput(n);
  sobol<<<dim3(4, kDimensions), 64>>>(v, out, n);
  van_der_corput<<<(n + 255) / 256, 256>>>(corput, n);
  const auto c = corput.host();
  bool right =
      out.host() == expected && c[1] == 0.5f && c[2] == 0.25f && c[3] == 0.75f && c[6] == 0.375f;
  Array<double> rest(1000);
  normals<<<4, 256>>>(rest, 1000);
  for (double one : rest.host()) right = right && std::fabs(one) < 1e-14;
  return finish("quasi_random", right);
}
