// A prefix sum in one pass: each block looks back at those before it until it meets a sum of all
// (decoupled look-back). State and sum of a block are one word of 64 bits.
#include "sample.h"

constexpr int kBlock = 128, kItems = 4;
constexpr unsigned long long kPartial = 1ull << 32, kComplete = 2ull << 32;

__global__ void scan(const int* in, int* out, unsigned long long* states, int* tickets, int n) {
  __shared__ int tile, before;
  __shared__ int of_warp[kBlock / 32];
  if (threadIdx.x == 0) tile = atomicAdd(tickets, 1);
  __syncthreads();
  const int first = (tile * kBlock + threadIdx.x) * kItems;
  int items[kItems], sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    items[k] = first + k < n ? in[first + k] : 0;
    sum += items[k];
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int inclusive = sum;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int left = __shfl_up_sync(0xffffffff, inclusive, step);
    if (lane >= step) inclusive += left;
  }
  if (lane == 31) of_warp[warp] = inclusive;
  __syncthreads();
  int of_block = 0, warps_before = 0;
  for (int w = 0; w < kBlock / 32; ++w) {
    if (w < warp) warps_before += of_warp[w];
    of_block += of_warp[w];
  }
  if (threadIdx.x == 0) {
    int sum_before = 0;
    if (tile > 0) {
      atomicExch(&states[tile], kPartial | (unsigned)of_block);
      for (int other = tile - 1; other >= 0;) {
        const unsigned long long state = atomicAdd(&states[other], 0ull);
        if (state == 0) continue;  // it has not come so far
        sum_before += (int)(unsigned)state;
        if (state & kComplete) break;
        --other;
      }
    }
    atomicExch(&states[tile], kComplete | (unsigned)(sum_before + of_block));
    before = sum_before;
  }
  __syncthreads();
  int running = before + warps_before + inclusive - sum;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    running += items[k];
    if (first + k < n) out[first + k] = running;
  }
}

int main() {
  const int n = 60001, tiles = (n + kBlock * kItems - 1) / (kBlock * kItems);
  std::vector<int> values(n), expected(n);
  Numbers numbers(13);
  int sum = 0;
  for (int i = 0; i < n; ++i) expected[i] = sum += values[i] = int(numbers.next() % 1000) - 450;
  Array<int> in(values), out(n), tickets(1);
  Array<unsigned long long> states(tiles);
  tickets.clear(), states.clear();
  scan<<<tiles, kBlock>>>(in, out, states, tickets, n);
  return finish("scan_look_back", out.host() == expected);
}
