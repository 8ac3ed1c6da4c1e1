// Lines of shared memory without conflicts of banks: a padded matrix, a permuted (swizzled) one of
// 16 bytes a thread, and volatile-free sums over columns and rows.
#include "sample.h"

template <int kPad>
__global__ void sums(const int* in, int* rows, int* columns) {
  __shared__ int tile[32][32 + kPad];
  const int t = threadIdx.x;
#pragma unroll
  for (int r = 0; r < 32; ++r) tile[r][t] = in[blockIdx.x * 1024 + r * 32 + t];
  __syncwarp();
  int row = 0, column = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) row += tile[t][i], column += tile[i][t];
  rows[blockIdx.x * 32 + t] = row, columns[blockIdx.x * 32 + t] = column;
}

__global__ void permuted(const int4* in, int4* out) {
  __shared__ int4 tile[8 * 8];
  const int row = threadIdx.x / 8, column = threadIdx.x % 8;
  tile[row * 8 + (column ^ row)] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = tile[column * 8 + (row ^ column)];
}

int main() {
  const int blocks = 4;
  std::vector<int> values(blocks * 1024), rows(blocks * 32), columns(blocks * 32);
  Numbers numbers(179);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = numbers.next() % 1000;
    rows[i / 1024 * 32 + i % 1024 / 32] += values[i];
    columns[i / 1024 * 32 + i % 32] += values[i];
  }
  Array<int> in(values), r(blocks * 32), c(blocks * 32);
  sums<1><<<blocks, 32>>>(in, r, c);
  bool right = r.host() == rows && c.host() == columns;
  sums<0><<<blocks, 32>>>(in, r, c);
  right = right && r.host() == rows && c.host() == columns;
  std::vector<int4> four(128);
  for (int i = 0; i < 128; ++i) four[i] = make_int4(i, i + 1, i + 2, i + 3);
  Array<int4> a(four), b(128);
  permuted<<<2, 64>>>(a, b);
  const auto turned = b.host();
  for (int i = 0; i < 128; ++i)
    right = right && turned[i].x == i / 64 * 64 + i % 8 * 8 + i % 64 / 8;
  return finish("bank_conflicts", right);
}
