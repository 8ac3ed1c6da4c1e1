// Matrix fragments of nvcuda::wmma: halves with sums in floats, bfloat16, bytes, and double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "sample.h"

using namespace nvcuda;

// C = alpha A B + beta C; A by rows, B by columns. A warp makes 16 by 16 results.
template <class In, class Out>
__global__ void product(const In* a, const In* b, Out* c, int m, int n, int k, Out alpha,
                        Out beta) {
  const int warp_m = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize,
            warp_n = blockIdx.y * blockDim.y + threadIdx.y;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, In, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, In, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Out> sum, old;
  wmma::fill_fragment(sum, Out(0));
  const int row = warp_m * 16, column = warp_n * 16;
  if (row >= m || column >= n) return;
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + column * k + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::load_matrix_sync(old, c + row * n + column, n, wmma::mem_row_major);
#pragma unroll
  for (int i = 0; i < old.num_elements; ++i) old.x[i] = alpha * sum.x[i] + beta * old.x[i];
  wmma::store_matrix_sync(c + row * n + column, old, n, wmma::mem_row_major);
}

__global__ void doubles(const double* a, const double* b, double* c, int k) {
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
  wmma::fill_fragment(sum, 0.0);
  for (int i = 0; i < k; i += 4) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c, sum, 8, wmma::mem_col_major);
}

template <class In, class Out, class Value>
bool test(Value value) {
  const int m = 32, n = 48, k = 64;
  std::vector<In> a(m * k), b(n * k);
  std::vector<Out> c(m * n), expected(m * n);
  Numbers numbers(71);
  for (In& one : a) one = In(value(numbers));
  for (In& one : b) one = In(value(numbers));
  for (Out& one : c) one = Out(int(numbers.next() % 9) - 4);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double(float(a[i * k + l])) * double(float(b[j * k + l]));
      expected[i * n + j] = Out(2 * sum + 3 * double(c[i * n + j]));
    }
  Array<In> da(a), db(b);
  Array<Out> dc(c);
  product<<<dim3(1, 2), dim3(64, 2)>>>((const In*)da, (const In*)db, (Out*)dc, m, n, k, Out(2),
                                       Out(3));
  return all_close(dc.host(), expected, 1e-5);
}

int main() {
  auto small = [](Numbers& numbers) { return float(int(numbers.next() % 17) - 8) / 4; };
  auto integer = [](Numbers& numbers) { return int(numbers.next() % 200) - 100; };
  bool right = test<half, float>(small) && test<__nv_bfloat16, float>(small) &&
               test<signed char, int>(integer) &&
               test<unsigned char, int>([](Numbers& numbers) { return numbers.next() % 256; });
  const int k = 12;
  std::vector<double> a(8 * k), b(8 * k), expected(64);
  Numbers numbers(73);
  for (double& one : a) one = numbers.real();
  for (double& one : b) one = numbers.real();
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int l = 0; l < k; ++l) expected[j * 8 + i] += a[i * k + l] * b[j * k + l];
  Array<double> da(a), db(b), c(64);
  doubles<<<1, 32>>>(da, db, c, k);
  return finish("matmul_wmma", right && all_close(c.host(), expected, 1e-12));
}
