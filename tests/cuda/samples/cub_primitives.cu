// Primitives of CUB: of a warp, of a block, of the device.
// needs: nvidia-cuda-cccl
#include <algorithm>
#include <numeric>

#include <cub/cub.cuh>

#include "sample.h"

template <int kThreads, int kItems>
__global__ void in_block(const int* in, int* sorted, int* sums, int* total) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } shared;
  int items[kItems], scanned[kItems];
  Load(shared.load).Load(in, items);
  __syncthreads();
  Sort(shared.sort).Sort(items);
  __syncthreads();
  Scan(shared.scan).ExclusiveSum(items, scanned);
  __syncthreads();
  Store(shared.store).Store(sums, scanned);
  __syncthreads();
  const int sum = Reduce(shared.reduce).Sum(items);
  if (threadIdx.x == 0) *total = sum;
  __syncthreads();
  Store(shared.store).Store(sorted, items);
}

__global__ void in_warps(const float* in, float* out) {
  using Reduce = cub::WarpReduce<float>;
  __shared__ typename Reduce::TempStorage shared[4];
  const int warp = threadIdx.x / 32;
  const float sum = Reduce(shared[warp]).Sum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) out[warp] = sum;
}

template <class Function>
void with_storage(Function function) {
  size_t bytes = 0;
  CHECK(function(nullptr, bytes));
  Array<char> storage(bytes + 1);
  CHECK(function((char*)storage, bytes));
}

int main() {
  const int n = 512;
  std::vector<int> values(n);
  Numbers numbers(107);
  for (int& one : values) one = int(numbers.next() % 1000) - 200;
  Array<int> in(values), sorted(n), sums(n), total(1);
  in_block<128, 4><<<1, 128>>>(in, sorted, sums, total);
  std::vector<int> expected(values);
  std::sort(expected.begin(), expected.end());
  bool right = sorted.host() == expected &&
               total.host()[0] == std::accumulate(values.begin(), values.end(), 0);
  const auto scanned = sums.host();
  for (int i = 0, sum = 0; i < n; sum += expected[i++]) right = right && scanned[i] == sum;
  std::vector<float> reals(128, 0.5f);
  Array<float> real(reals), warps(4);
  in_warps<<<1, 128>>>(real, warps);
  right = right && warps.host() == std::vector<float>(4, 16.0f);

  Array<int> out(n), count(1);
  int *pi = in, *po = out, *pc = count, *ps = sorted;
  with_storage([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, pi, pc, n); });
  right = right && count.host()[0] == total.host()[0];
  with_storage([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, pi, po, n); });
  std::vector<int> prefix(n);
  std::partial_sum(values.begin(), values.end(), prefix.begin());
  right = right && out.host() == prefix;
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceRadixSort::SortKeysDescending(s, b, pi, ps, n);
  });
  std::reverse(expected.begin(), expected.end());
  right = right && sorted.host() == expected;
  return finish("cub_primitives", right);
}
