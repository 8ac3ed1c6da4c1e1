// Filters: places by ballots, by atomics that a warp adds together, by coalesced groups, and by
// groups of the same bucket.
#include <algorithm>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "sample.h"

namespace cg = cooperative_groups;

__device__ int add_aggregated(int* counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int base = 0;
  if (active.thread_rank() == 0) base = atomicAdd(counter, active.size());
  return active.shfl(base, 0) + active.thread_rank();
}

__global__ void filter(int* out, int* count, const int* in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (in[i] > 0) out[add_aggregated(count)] = in[i];
}

// Keeps the order within a block.
__global__ void by_ballots(int* out, int* counts, const int* in, int n) {
  __shared__ int warps[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31,
            warp = threadIdx.x >> 5;
  const bool keep = i < n && in[i] > 0;
  const unsigned ballot = __ballot_sync(0xffffffff, keep);
  if (lane == 0) warps[warp] = __popc(ballot);
  const int total = __syncthreads_count(keep);
  int place = blockIdx.x * blockDim.x + __popc(ballot & ((1u << lane) - 1));
  for (int w = 0; w < warp; ++w) place += warps[w];
  if (keep) out[place] = in[i];
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

__global__ void buckets(const int* in, int* counts, int* sums, int n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto active = cg::coalesced_threads();
  const int bucket = abs(in[i]) % count;
  auto same = cg::labeled_partition(active, bucket);
  const int sum = cg::reduce(same, in[i], cg::plus<int>());
  if (same.thread_rank() == 0) {
    atomicAdd(&counts[bucket], int(same.num_threads()));
    atomicAdd(&sums[bucket], sum);
  }
  auto side = cg::binary_partition(active, in[i] >= 0);
  if (side.thread_rank() == 0) atomicAdd(&counts[count + side.meta_group_rank()], int(side.size()));
}

int main() {
  const int n = 5000;
  std::vector<int> values(n), kept;
  Numbers numbers(89);
  int counts[7] = {}, sums[5] = {};
  for (int& one : values) {
    one = int(numbers.next() % 2001) - 1000;
    if (one > 0) kept.push_back(one);
    ++counts[std::abs(one) % 5], ++counts[5 + (one >= 0)];
    sums[std::abs(one) % 5] += one;
  }
  Array<int> in(values), out(n), count(1), per_block((n + 255) / 256), places(n), c(7), s(5);
  count.clear(), c.clear(), s.clear();
  filter<<<5, 256>>>(out, count, in, n);
  by_ballots<<<(n + 255) / 256, 256>>>(places, per_block, in, n);
  buckets<<<(n + 191) / 192, 192>>>(in, c, s, n, 5);
  auto found = out.host();
  found.resize(count.host()[0]);
  std::vector<int> ordered;
  const auto tiles = places.host(), of_block = per_block.host();
  for (size_t b = 0; b < of_block.size(); ++b)
    ordered.insert(ordered.end(), tiles.begin() + b * 256, tiles.begin() + b * 256 + of_block[b]);
  bool right = ordered == kept;
  std::sort(found.begin(), found.end());
  std::sort(kept.begin(), kept.end());
  right = right && found == kept && std::equal(counts, counts + 7, c.host().begin()) &&
          std::equal(sums, sums + 5, s.host().begin());
  return finish("stream_compaction", right);
}
