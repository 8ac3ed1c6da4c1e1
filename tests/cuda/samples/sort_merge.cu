// Merge sort: tiles by an odd-even merge network, then pairs of runs, whose borders in tiles of the
// result are found by search along diagonals (merge path). And an odd-even transposition sort.
#include <algorithm>

#include "sample.h"

constexpr int kTile = 256;

__global__ void sort_tiles(int* keys) {
  __shared__ int s[kTile];
  const int t = threadIdx.x, base = blockIdx.x * kTile;
  s[t] = keys[base + t];
  s[t + kTile / 2] = keys[base + t + kTile / 2];
  for (int size = 2; size <= kTile; size *= 2) {
    int step = size / 2;
    const int offset = t & (step - 1);
    __syncthreads();
    int at = 2 * t - (t & (step - 1));
    if (s[at] > s[at + step]) {
      const int swap = s[at];
      s[at] = s[at + step], s[at + step] = swap;
    }
    for (step /= 2; step > 0; step /= 2) {
      __syncthreads();
      at = 2 * t - (t & (step - 1));
      if (offset >= step && s[at - step] > s[at]) {
        const int swap = s[at - step];
        s[at - step] = s[at], s[at] = swap;
      }
    }
  }
  __syncthreads();
  keys[base + t] = s[t];
  keys[base + t + kTile / 2] = s[t + kTile / 2];
}

// How many of the first `diagonal` numbers of the merged runs come from a.
__device__ int from_a(const int* a, int na, const int* b, int nb, int diagonal) {
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

__global__ void merge(const int* in, int* out, int n, int run) {
  constexpr int kItems = 4;
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kItems;
  if (first >= n) return;
  const int pair = first / (2 * run) * (2 * run);
  const int *a = in + pair, *b = a + run;
  const int na = min(run, n - pair), nb = min(run, max(0, n - pair - run));
  const int diagonal = first - pair;
  int i = from_a(a, na, b, nb, diagonal), j = diagonal - i;
#pragma unroll
  for (int k = 0; k < kItems; ++k)
    if (first + k < n) out[first + k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

__global__ void transposition(int* keys, int n) {
  for (int round = 0; round < n; ++round) {
    const int i = 2 * threadIdx.x + (round & 1);
    if (i + 1 < n && keys[i] > keys[i + 1]) {
      const int swap = keys[i];
      keys[i] = keys[i + 1], keys[i + 1] = swap;
    }
    __syncthreads();
  }
}

int main() {
  const int n = kTile * 11;
  std::vector<int> keys(n);
  Numbers numbers(29);
  for (int& key : keys) key = int(numbers.next() % 100000) - 50000;
  Array<int> a(keys), b(n), c(std::vector<int>(keys.begin(), keys.begin() + 101));
  sort_tiles<<<n / kTile, kTile / 2>>>(a);
  int *from = a, *to = b;
  for (int run = kTile; run < n; run *= 2) {
    merge<<<(n / 4 + 127) / 128, 128>>>(from, to, n, run);
    std::swap(from, to);
  }
  std::vector<int> sorted(n);
  CHECK(cudaMemcpy(sorted.data(), from, n * sizeof(int), cudaMemcpyDefault));
  transposition<<<1, 64>>>(c, 101);
  const auto few = c.host();
  bool right = std::is_sorted(few.begin(), few.end());
  std::sort(keys.begin(), keys.end());
  return finish("sort_merge", right && sorted == keys);
}
