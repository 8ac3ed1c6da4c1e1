// Paths in graphs: shortest ones between all nodes by tiles (Floyd and Warshall), and breadth-first
// levels with a queue that grows by atomics.
#include "sample.h"

constexpr int kTile = 16;

__device__ void relax(int (*c)[kTile], const int (*a)[kTile], const int (*b)[kTile]) {
  for (int k = 0; k < kTile; ++k) {
    const int through = a[threadIdx.y][k] + b[k][threadIdx.x];
    __syncthreads();  // a and b may be c
    if (through < c[threadIdx.y][threadIdx.x]) c[threadIdx.y][threadIdx.x] = through;
    __syncthreads();
  }
}

__device__ int& at(int* d, int n, int row, int column) {
  return d[(row * kTile + threadIdx.y) * n + column * kTile + threadIdx.x];
}

__global__ void diagonal(int* d, int n, int round) {
  __shared__ int c[kTile][kTile];
  c[threadIdx.y][threadIdx.x] = at(d, n, round, round);
  __syncthreads();
  relax(c, c, c);
  at(d, n, round, round) = c[threadIdx.y][threadIdx.x];
}
__global__ void cross(int* d, int n, int round) {
  __shared__ int c[kTile][kTile], pivot[kTile][kTile];
  if (blockIdx.x == round) return;
  const int row = blockIdx.y ? blockIdx.x : round, column = blockIdx.y ? round : blockIdx.x;
  pivot[threadIdx.y][threadIdx.x] = at(d, n, round, round);
  c[threadIdx.y][threadIdx.x] = at(d, n, row, column);
  __syncthreads();
  if (blockIdx.y)
    relax(c, c, pivot);
  else
    relax(c, pivot, c);
  at(d, n, row, column) = c[threadIdx.y][threadIdx.x];
}
__global__ void rest(int* d, int n, int round) {
  __shared__ int a[kTile][kTile], b[kTile][kTile];
  if (blockIdx.x == round || blockIdx.y == round) return;
  a[threadIdx.y][threadIdx.x] = at(d, n, blockIdx.y, round);
  b[threadIdx.y][threadIdx.x] = at(d, n, round, blockIdx.x);
  int best = at(d, n, blockIdx.y, blockIdx.x);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTile; ++k) best = min(best, a[threadIdx.y][k] + b[k][threadIdx.x]);
  at(d, n, blockIdx.y, blockIdx.x) = best;
}

__global__ void breadth(const int* starts, const int* ends, int* levels, const int* queue, int size,
                        int* next, int* next_size, int level) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const int node = queue[i];
  for (int edge = starts[node]; edge < starts[node + 1]; ++edge)
    if (atomicCAS(&levels[ends[edge]], -1, level) == -1) next[atomicAdd(next_size, 1)] = ends[edge];
}

int main() {
  const int n = 80, far = 1000000;
  std::vector<int> d(n * n, far), starts(1), ends;
  Numbers numbers(131);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      if (i == j) {
        d[i * n + j] = 0;
      } else if (numbers.next() % 12 == 0) {
        d[i * n + j] = 1 + numbers.next() % 100;
        ends.push_back(j);
      }
    starts.push_back(int(ends.size()));
  }
  Array<int> distances(d);
  for (int round = 0; round < n / kTile; ++round) {
    diagonal<<<1, dim3(kTile, kTile)>>>(distances, n, round);
    cross<<<dim3(n / kTile, 2), dim3(kTile, kTile)>>>(distances, n, round);
    rest<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(distances, n, round);
  }
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
  bool right = distances.host() == d;

  std::vector<int> expected(n, -1), order{0};
  expected[0] = 0;
  for (size_t i = 0; i < order.size(); ++i)
    for (int e = starts[order[i]]; e < starts[order[i] + 1]; ++e)
      if (expected[ends[e]] < 0)
        expected[ends[e]] = expected[order[i]] + 1, order.push_back(ends[e]);
  std::vector<int> levels(n, -1);
  levels[0] = 0;
  Array<int> s(starts), e(ends), l(levels), a(std::vector<int>(n, 0)), b(n), size(1);
  int *queue = a, *next = b, count = 1;
  for (int level = 1; count > 0; ++level) {
    size.clear();
    breadth<<<(count + 31) / 32, 32>>>(s, e, l, queue, count, next, size, level);
    count = size.host()[0];
    std::swap(queue, next);
  }
  return finish("graph_paths", right && l.host() == expected);
}
