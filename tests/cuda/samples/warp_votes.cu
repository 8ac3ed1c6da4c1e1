// Votes and matches of warps, also in branches and with masks of a part of the lanes.
#include "sample.h"

__global__ void votes(const unsigned* in, unsigned* out) {
  const unsigned lane = threadIdx.x & 31, value = in[threadIdx.x];
  unsigned* mine = out + threadIdx.x * 8;
  mine[0] = __any_sync(0xffffffff, value > 90);
  mine[1] = __all_sync(0xffffffff, value < 1000);
  mine[2] = __ballot_sync(0xffffffff, value & 1);
  mine[3] = __match_any_sync(0xffffffff, value % 7);
  int same = 0;
  mine[4] = __match_all_sync(0xffffffff, value / 1000, &same);
  mine[4] += same;
  const unsigned odd = 0xaaaaaaaa;
  if (lane & 1) {
    mine[5] = __ballot_sync(odd, value > 50);
    mine[6] = __shfl_sync(odd, value, 31 - (lane & 1 ? 0 : 1));
  } else {
    mine[5] = __popc(__activemask() & odd);
    mine[6] = __reduce_min_sync(~odd, value);
  }
  __syncwarp();
  unsigned tally = 0, live = 0xffffffff;
  while (live >> lane & 1) {  // lanes leave one after the other
    ++tally;
    live = __ballot_sync(live, tally <= lane % 4);
  }
  mine[7] = tally;
}

__global__ void block_votes(const unsigned* in, int* out) {
  const unsigned value = in[threadIdx.x];
  const int any = __syncthreads_or(value == 17), all = __syncthreads_and(value < 100),
            count = __syncthreads_count(value > 50);
  if (threadIdx.x == 0) out[0] = any != 0, out[1] = all != 0, out[2] = count;
}

int main() {
  const int n = 64;
  std::vector<unsigned> in(n);
  Numbers numbers(97);
  for (unsigned& one : in) one = numbers.next() % 100;
  in[5] = 17;
  Array<unsigned> values(in), out(n * 8);
  Array<int> block(3);
  votes<<<1, n>>>(values, out);
  block_votes<<<1, n>>>(values, block);
  const auto o = out.host();
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const unsigned* warp = &in[i / 32 * 32];
    unsigned any = 0, ballot = 0, match = 0, odd = 0, least = ~0u;
    for (int l = 0; l < 32; ++l) {
      any |= warp[l] > 90;
      ballot |= (warp[l] & 1) << l;
      if (warp[l] % 7 == in[i] % 7) match |= 1u << l;
      if ((l & 1) && warp[l] > 50) odd |= 1u << l;
      if (!(l & 1)) least = std::min(least, warp[l]);
    }
    const unsigned* mine = &o[i * 8];
    right = right && mine[0] == any && mine[1] == 1 && mine[2] == ballot && mine[3] == match &&
            mine[4] == 0xffffffffu + 1 && mine[5] == (i & 1 ? odd : 0) &&
            mine[6] == (i & 1 ? warp[31] : least) && mine[7] == unsigned(i % 4 + 1);
  }
  int count = 0;
  for (unsigned one : in) count += one > 50;
  const auto b = block.host();
  return finish("warp_votes", right && b[0] == 1 && b[1] == 1 && b[2] == count);
}
