// A stable radix sort, 4 bits a pass: digits of tiles are counted, the counts are scanned, and each
// warp finds the places of equal digits with __match_any_sync.
#include <algorithm>

#include "sample.h"

constexpr int kBlock = 256, kWarps = kBlock / 32, kDigits = 16;

__global__ void count(const unsigned* keys, int* counts, int n, int shift) {
  __shared__ int of_digit[kDigits];
  if (threadIdx.x < kDigits) of_digit[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) atomicAdd(&of_digit[keys[i] >> shift & (kDigits - 1)], 1);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = of_digit[threadIdx.x];
}

// One block makes exclusive sums of all counts.
__global__ void scan(int* counts, int n) {
  __shared__ int of_warp[32];
  __shared__ int carried;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) carried = 0;
  for (int base = 0; base < n; base += blockDim.x) {
    const int i = base + threadIdx.x;
    const int value = i < n ? counts[i] : 0;
    int sum = value;
    for (int step = 1; step < 32; step *= 2) {
      const int left = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += left;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
      int total = lane < int(blockDim.x / 32) ? of_warp[lane] : 0;
      for (int step = 1; step < 32; step *= 2) {
        const int left = __shfl_up_sync(~0u, total, step);
        if (lane >= step) total += left;
      }
      of_warp[lane] = total;
    }
    __syncthreads();
    const int before = carried + (warp > 0 ? of_warp[warp - 1] : 0);
    if (i < n) counts[i] = before + sum - value;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) carried = before + sum;
    __syncthreads();
  }
}

__global__ void scatter(const unsigned* in, unsigned* out, const int* places, int n, int shift) {
  __shared__ int counts[kWarps][kDigits];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int i = threadIdx.x; i < kWarps * kDigits; i += kBlock) (&counts[0][0])[i] = 0;
  __syncthreads();
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const unsigned key = i < n ? in[i] : 0;
  const int digit = i < n ? int(key >> shift & (kDigits - 1)) : kDigits;
  const unsigned same = __match_any_sync(~0u, digit);
  const int rank = __popc(same & ((1u << lane) - 1));
  if (i < n && rank == 0) counts[warp][digit] = __popc(same);
  __syncthreads();
  if (i >= n) return;
  int place = places[digit * gridDim.x + blockIdx.x] + rank;
  for (int w = 0; w < warp; ++w) place += counts[w][digit];
  out[place] = key;
}

int main() {
  const int n = 10007, blocks = (n + kBlock - 1) / kBlock;
  std::vector<unsigned> keys(n);
  Numbers numbers(23);
  for (unsigned& key : keys) key = numbers.next() << 8 | (numbers.next() & 255);
  Array<unsigned> a(keys), b(n);
  Array<int> counts(kDigits * blocks);
  unsigned *from = a, *to = b;
  for (int shift = 0; shift < 32; shift += 4) {
    count<<<blocks, kBlock>>>(from, counts, n, shift);
    scan<<<1, 512>>>(counts, kDigits * blocks);
    scatter<<<blocks, kBlock>>>(from, to, counts, n, shift);
    std::swap(from, to);
  }
  std::sort(keys.begin(), keys.end());
  return finish("sort_radix", a.host() == keys);
}
