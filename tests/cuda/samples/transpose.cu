// Transposes: plain, by tiles in shared memory with a padded line, along diagonals, with swizzled
// columns instead of padding, and 4 by 4 within threads.
#include "sample.h"

constexpr int kTile = 32, kRows = 8;

__global__ void plain(float* out, const float* in, int width, int height) {
  const int x = blockIdx.x * kTile + threadIdx.x;
  for (int y = blockIdx.y * kTile + threadIdx.y; y < min(height, int(blockIdx.y + 1) * kTile);
       y += kRows)
    if (x < width) out[x * height + y] = in[y * width + x];
}

template <bool kDiagonal>
__global__ void tiled(float* out, const float* in, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  const int by = kDiagonal ? int(blockIdx.x) : int(blockIdx.y);
  const int bx = kDiagonal ? int((blockIdx.x + blockIdx.y) % gridDim.x) : int(blockIdx.x);
  int x = bx * kTile + threadIdx.x, y = by * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = by * kTile + threadIdx.x, y = bx * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Column c of row r lies in bank c ^ r.
__global__ void swizzled(double* matrix, int n) {
  __shared__ double a[kTile * kTile], b[kTile * kTile];
  const int bx = blockIdx.x, by = blockIdx.y;
  if (bx > by) return;
  const int tx = threadIdx.x;
  for (int r = threadIdx.y; r < kTile; r += blockDim.y) {
    a[r * kTile + (tx ^ r)] = matrix[(by * kTile + r) * n + bx * kTile + tx];
    b[r * kTile + (tx ^ r)] = matrix[(bx * kTile + r) * n + by * kTile + tx];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < kTile; r += blockDim.y) {
    matrix[(bx * kTile + r) * n + by * kTile + tx] = a[tx * kTile + (r ^ tx)];
    matrix[(by * kTile + r) * n + bx * kTile + tx] = b[tx * kTile + (r ^ tx)];
  }
}

// Four lanes hold four rows of four; shuffles turn them.
__global__ void by_shuffles(const int4* in, int4* out) {
  const int lane = threadIdx.x & 3;
  const int4 v = in[blockIdx.x * blockDim.x + threadIdx.x];
  int row[4] = {v.x, v.y, v.z, v.w}, result[4];
#pragma unroll
  for (int round = 0; round < 4; ++round) {
    const int give = (lane ^ round);
    int mine = row[0];
    if (give == 1) mine = row[1];
    if (give == 2) mine = row[2];
    if (give == 3) mine = row[3];
    const int got = __shfl_xor_sync(0xffffffff, mine, round, 4);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (k == give) result[k] = got;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      make_int4(result[0], result[1], result[2], result[3]);
}

int main() {
  const int width = 100, height = 100;
  std::vector<float> values(width * height), expected(width * height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      expected[x * height + y] = values[y * width + x] = float(y * width + x);
  Array<float> in(values), out(width * height);
  const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), block(kTile, kRows);
  bool right = true;
  void (*const kernels[])(float*, const float*, int, int) = {plain, tiled<false>, tiled<true>};
  for (auto kernel : kernels) {
    out.clear();
    kernel<<<grid, block>>>(out, in, width, height);
    right = right && out.host() == expected;
  }
  const int n = 96;
  std::vector<double> square(n * n);
  for (int i = 0; i < n * n; ++i) square[i] = i;
  Array<double> matrix(square);
  swizzled<<<dim3(n / kTile, n / kTile), dim3(kTile, 4)>>>(matrix, n);
  const auto turned = matrix.host();
  for (int i = 0; i < n * n; ++i) right = right && turned[i] == i % n * n + i / n;
  std::vector<int4> rows(64);
  for (int i = 0; i < 64; ++i) rows[i] = make_int4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
  Array<int4> a(rows), b(64);
  by_shuffles<<<2, 32>>>(a, b);
  const auto columns = b.host();
  for (int i = 0; i < 64; ++i) {
    const int first = i / 4 * 16 + i % 4;
    right = right && columns[i].x == first && columns[i].y == first + 4 &&
            columns[i].z == first + 8 && columns[i].w == first + 12;
  }
  return finish("transpose", right);
}
