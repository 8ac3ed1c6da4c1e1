// Kernels as programs have them, and the same work of plain.cpp, in turns.
//
// Prints a line for each work: its name, the median milliseconds of the kernel and of the plain
// loop, and the median of the ratios of the rounds; then nanoseconds of a thread for a barrier and
// for a shuffle. Ends with 1 if the results differ.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/cub.cuh>

#include "plain.h"

constexpr int kNumbers = 1 << 20;
constexpr int kSide = 256;
constexpr int kTile = 16;

__global__ void elementwise(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * b[i] + a[i];
}

__global__ void reduce(const float* a, float* sum, int n) {
  __shared__ float sums[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += a[i];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    if (threadIdx.x == 0) atomicAdd(sum, v);
  }
}

__global__ void reduce_in_shared(const float* a, float* sum, int n) {
  __shared__ float sums[256];
  int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  sums[threadIdx.x] = (i < n ? a[i] : 0) + (i + blockDim.x < n ? a[i + blockDim.x] : 0);
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, sums[0]);
}

__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float of_a[kTile][kTile];
  __shared__ float of_b[kTile][kTile];
  int x = threadIdx.x;
  int y = threadIdx.y;
  int row = blockIdx.y * kTile + y;
  int column = blockIdx.x * kTile + x;
  float v = 0;
  for (int k = 0; k < n; k += kTile) {
    of_a[y][x] = a[row * n + k + x];
    of_b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < kTile; ++j) v += of_a[y][j] * of_b[j][x];
    __syncthreads();
  }
  c[row * n + column] = v;
}

// Functions of the program that wait: such kernels are not split into loops, so each wait is a
// switch to the next thread.
__device__ void meet() {
  __syncthreads();
}
__device__ int of_neighbour(int v) {
  return __shfl_xor_sync(0xffffffff, v, 1);
}

__global__ void wait(int rounds) {
  for (int i = 0; i < rounds; ++i) meet();
}

__global__ void exchange(int rounds, int* out) {
  int v = threadIdx.x;
  for (int i = 0; i < rounds; ++i) v += of_neighbour(v);
  out[threadIdx.x] = v;
}

using Milliseconds = std::chrono::duration<double, std::milli>;

template <class Work>
double time_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  cudaDeviceSynchronize();
  return Milliseconds(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

template <class T>
struct Memory {
  explicit Memory(int n) { cudaMallocManaged(&data, n * sizeof(T)); }
  ~Memory() { cudaFree(data); }
  T* data = nullptr;
};

int rounds = 0;
bool differ = false;

template <class Kernel, class Plain>
void compare(const char* name, const Kernel& kernel, const Plain& plain) {
  std::vector<double> kernels, plains, ratios;
  for (int i = -2; i < rounds; ++i) {
    const double a = time_of(kernel);
    const double b = time_of(plain);
    if (i < 0) continue;
    kernels.push_back(a);
    plains.push_back(b);
    ratios.push_back(a / b);
  }
  std::printf("%s\t%.3f\t%.3f\t%.2f\n", name, median(kernels), median(plains), median(ratios));
}

template <class T>
void check(const char* name, const T* a, const T* b, int n) {
  for (int i = 0; i < n; ++i) {
    if (std::abs(double(a[i]) - double(b[i])) <= 1e-4 * std::abs(double(b[i]))) continue;
    std::fprintf(stderr, "%s: element %d is %g, and %g in plain C++\n", name, i, double(a[i]),
                 double(b[i]));
    differ = true;
    return;
  }
}

void all_of_floats() {
  Memory<float> a(kNumbers), b(kNumbers), c(kNumbers), d(kNumbers);
  for (int i = 0; i < kNumbers; ++i) {
    a.data[i] = float(i % 7);
    b.data[i] = float(i % 5);
  }
  compare(
      "elementwise",
      [&] {
        elementwise<<<(kNumbers + 255) / 256, 256>>>(a.data, b.data, c.data, kNumbers);
      },
      [&] { plain::elementwise(a.data, b.data, d.data, kNumbers); });
  check("elementwise", c.data, d.data, kNumbers);
  compare(
      "reduction with shuffles",
      [&] {
        cudaMemset(c.data, 0, sizeof(float));
        reduce<<<64, 256>>>(a.data, c.data, kNumbers);
      },
      [&] { d.data[0] = plain::sum(a.data, kNumbers); });
  check("reduction with shuffles", c.data, d.data, 1);
  compare(
      "reduction in shared memory",
      [&] {
        cudaMemset(c.data, 0, sizeof(float));
        reduce_in_shared<<<kNumbers / 512, 256>>>(a.data, c.data, kNumbers);
      },
      [&] { d.data[0] = plain::sum(a.data, kNumbers); });
  check("reduction in shared memory", c.data, d.data, 1);
  compare(
      "tiled matrix product",
      [&] {
        product<<<dim3(kSide / kTile, kSide / kTile), dim3(kTile, kTile)>>>(a.data, b.data, c.data,
                                                                            kSide);
      },
      [&] { plain::product(a.data, b.data, d.data, kSide); });
  check("tiled matrix product", c.data, d.data, kSide * kSide);
}

void scan() {
  Memory<int> in(kNumbers), out(kNumbers), expected(kNumbers);
  for (int i = 0; i < kNumbers; ++i) in.data[i] = i % 7;
  size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(nullptr, bytes, in.data, out.data, kNumbers);
  Memory<char> temporary(int(bytes) + 1);
  compare(
      "scan with cub",
      [&] {
        cub::DeviceScan::InclusiveSum(temporary.data, bytes, in.data, out.data, kNumbers);
      },
      [&] { plain::scan(in.data, expected.data, kNumbers); });
  check("scan with cub", out.data, expected.data, kNumbers);
}

void switches() {
  constexpr int kThreads = 256;
  constexpr int kTimes = 1000;
  Memory<int> out(kThreads);
  std::vector<double> barriers, shuffles;
  for (int i = -1; i < rounds; ++i) {
    const double a = time_of([&] { wait<<<1, kThreads>>>(kTimes); });
    const double b = time_of([&] { exchange<<<1, kThreads>>>(kTimes, out.data); });
    if (i < 0) continue;
    barriers.push_back(a * 1e6 / kThreads / kTimes);
    shuffles.push_back(b * 1e6 / kThreads / kTimes);
  }
  std::printf("barrier\t%.1f\nshuffle\t%.1f\n", median(barriers), median(shuffles));
}

int main(int, char** argv) {
  rounds = std::atoi(argv[1]);
  all_of_floats();
  scan();
  switches();
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return differ || error != cudaSuccess ? 1 : 0;
}
