// Sums that begin anew at flags, by warps, and from them the products of a sparse matrix.
#include "sample.h"

struct Pair {
  float value;
  int flag;
};

__device__ Pair scan_of_warp(Pair mine) {
  const int lane = threadIdx.x % 32;
  for (int step = 1; step < 32; step <<= 1) {
    const float value = __shfl_up_sync(~0u, mine.value, step);
    const int flag = __shfl_up_sync(~0u, mine.flag, step);
    if (lane >= step) {
      if (!mine.flag) mine.value += value;
      mine.flag |= flag;
    }
  }
  return mine;
}

__global__ void segmented(const float* in, const int* heads, float* out, int n) {
  __shared__ Pair of_warp[32];
  const int i = threadIdx.x, lane = i % 32, warp = i / 32;
  Pair mine{i < n ? in[i] : 0, i < n ? heads[i] : 1};
  mine = scan_of_warp(mine);
  if (lane == 31) of_warp[warp] = mine;
  __syncthreads();
  if (warp == 0) {
    const Pair sum = scan_of_warp(of_warp[lane]);
    __syncwarp();
    of_warp[lane] = sum;
  }
  __syncthreads();
  if (warp > 0 && !mine.flag) mine.value += of_warp[warp - 1].value;
  if (i < n) out[i] = mine.value;
}

// A warp for each row of a matrix in compressed rows.
__global__ void multiply(const int* rows, const int* columns, const float* values, const float* x,
                         float* y, int n) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float sum = 0;
  for (int i = rows[row] + lane; i < rows[row + 1]; i += 32)
    sum += values[i] * __ldg(&x[columns[i]]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) y[row] = sum;
}

int main() {
  const int n = 1000;
  std::vector<float> in(n), expected(n);
  std::vector<int> heads(n);
  Numbers numbers(17);
  for (int i = 0; i < n; ++i) {
    in[i] = float(numbers.next() % 32);
    heads[i] = numbers.next() % 19 == 0;
    expected[i] = in[i] + (i > 0 && !heads[i] ? expected[i - 1] : 0);
  }
  Array<float> a(in), b(n);
  Array<int> c(heads);
  segmented<<<1, 1024>>>(a, c, b, n);
  bool right = b.host() == expected;

  const int size = 201;
  std::vector<int> rows(size + 1), columns;
  std::vector<float> values, x(size), y(size);
  for (float& one : x) one = numbers.real(-1, 1);
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column)
      if (numbers.next() % 4 == 0) {
        columns.push_back(column);
        values.push_back(numbers.real());
        y[row] += values.back() * x[column];
      }
    rows[row + 1] = int(columns.size());
  }
  Array<int> r(rows), col(columns);
  Array<float> v(values), dx(x), dy(size);
  multiply<<<(size + 3) / 4, 128>>>(r, col, v, dx, dy, size);
  return finish("scan_segmented", right && all_close(dy.host(), y, 1e-5));
}
