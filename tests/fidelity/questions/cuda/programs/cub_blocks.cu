// cub's warps and blocks: bits of sums of floats (their order), where items go, sizes of temporary storage.
#include "told.h"

#if __has_include(<cub/cub.cuh>)
#include <cub/cub.cuh>

namespace {

constexpr int kItems = 4;

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <int kThreads, cub::BlockReduceAlgorithm kHow>
__global__ void reduces(const float* in, float* out, int* size) {
  using Block = cub::BlockReduce<float, kThreads, kHow>;
  __shared__ typename Block::TempStorage storage;
  float items[kItems];
  for (int i = 0; i < kItems; ++i) items[i] = in[threadIdx.x * kItems + i];
  float sum = Block(storage).Sum(items[0]);
  __syncthreads();
  float all = Block(storage).Sum(items);
  __syncthreads();
  float part = Block(storage).Sum(items[1], kThreads - 5);
  if (threadIdx.x == 0) out[0] = sum, out[1] = all, out[2] = part, *size = sizeof(storage);
}

template <int kThreads, cub::BlockScanAlgorithm kHow>
__global__ void scans(const float* in, float* out, int* size) {
  using Block = cub::BlockScan<float, kThreads, kHow>;
  __shared__ typename Block::TempStorage storage;
  int t = threadIdx.x;
  float items[kItems], scanned[kItems], whole;
  for (int i = 0; i < kItems; ++i) items[i] = in[t * kItems + i];
  Block(storage).InclusiveSum(items[0], out[t]);
  __syncthreads();
  Block(storage).ExclusiveSum(items, scanned, whole);
  for (int i = 0; i < kItems; ++i) out[kThreads + t * kItems + i] = scanned[i];
  if (t == 0) out[kThreads * (kItems + 1)] = whole, *size = sizeof(storage);
}

template <int kLanes>
__global__ void warps(const float* in, float* out, int* size) {
  using Reduce = cub::WarpReduce<float, kLanes>;
  using Scan = cub::WarpScan<float, kLanes>;
  __shared__ typename Reduce::TempStorage reduce_storage[32];
  __shared__ typename Scan::TempStorage scan_storage[32];
  int t = threadIdx.x, w = t / kLanes;
  float sum = Reduce(reduce_storage[w]).Sum(in[t]);
  if (t % kLanes == 0) out[w] = sum;
  float inclusive, exclusive;
  Scan(scan_storage[w]).InclusiveSum(in[t], inclusive);
  __syncwarp();
  Scan(scan_storage[w]).ExclusiveScan(in[t], exclusive, 0.5f, Plus{});
  out[32 + t] = inclusive, out[64 + t] = exclusive;
  if (t == 0) size[0] = sizeof(reduce_storage[0]), size[1] = sizeof(scan_storage[0]);
}

__global__ void sorts(const float* in, float* out, int* ranks, int* size) {
  using Sort = cub::BlockRadixSort<float, 64, kItems, int>;
  using Load = cub::BlockLoad<float, 64, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<float, 64, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  float keys[kItems];
  int values[kItems];
  Load(storage.load).Load(in, keys);
  for (int i = 0; i < kItems; ++i) values[i] = threadIdx.x * kItems + i;
  __syncthreads();
  Sort(storage.sort).SortDescending(keys, values);
  __syncthreads();
  Store(storage.store).Store(out, keys);
  for (int i = 0; i < kItems; ++i) ranks[threadIdx.x * kItems + i] = values[i];
  if (threadIdx.x == 0) size[0] = sizeof(storage.sort), size[1] = sizeof(storage.load), size[2] = sizeof(storage.store);
}

template <int kThreads>
void ask_blocks(const Array<float>& in) {
  std::string name = std::to_string(kThreads) + " threads ";
  Array<float> out(kThreads * (kItems + 1) + 1);
  Array<int> size(1);
  auto reduced = [&](const char* how) {
    FINISH();
    auto all = out.host();
    tell_bits(name + "reduce " + how, std::vector<float>(all.begin(), all.begin() + 3));
    tell(name + "reduce " + how + " bytes", size.host());
  };
  auto scanned = [&](const char* how) {
    FINISH();
    tell_bits(name + "scan " + how, out.host(), 100);
    tell(name + "scan " + how + " bytes", size.host());
  };
  reduces<kThreads, cub::BLOCK_REDUCE_RAKING><<<1, kThreads>>>(in, out, size), reduced("raking");
  reduces<kThreads, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, kThreads>>>(in, out, size), reduced("raking commutative");
  reduces<kThreads, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, kThreads>>>(in, out, size), reduced("warps");
  scans<kThreads, cub::BLOCK_SCAN_RAKING><<<1, kThreads>>>(in, out, size), scanned("raking");
  scans<kThreads, cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, kThreads>>>(in, out, size), scanned("raking memoize");
  scans<kThreads, cub::BLOCK_SCAN_WARP_SCANS><<<1, kThreads>>>(in, out, size), scanned("warps");
}

template <int kLanes>
void ask_warps(const Array<float>& in) {
  Array<float> out(96);
  Array<int> size(2);
  warps<kLanes><<<1, 32>>>(in, out, size);
  FINISH();
  tell_bits("warp of " + std::to_string(kLanes), out.host(), 96);
  tell("warp of " + std::to_string(kLanes) + " bytes", size.host());
}

}  // namespace

int main() {
  tell("CUB_VERSION", CUB_VERSION);
  std::vector<float> values(4096);
  Numbers numbers;
  for (float& x : values) x = numbers.unit() * (numbers.word() % 5 ? 1.0f : 3000.0f);
  Array<float> in(values);
  ask_blocks<32>(in), ask_blocks<64>(in), ask_blocks<96>(in), ask_blocks<100>(in), ask_blocks<256>(in), ask_blocks<1024>(in);
  ask_warps<32>(in), ask_warps<16>(in), ask_warps<8>(in), ask_warps<6>(in), ask_warps<4>(in), ask_warps<1>(in);
  Array<float> out(256);
  Array<int> ranks(256), size(3);
  values[3] = 0.0f, values[200] = -0.0f, values[77] = NAN, values[78] = -NAN, values[79] = INFINITY, values[80] = values[81];
  Array<float> some(values);
  sorts<<<1, 64>>>(some, out, ranks, size);
  FINISH();
  tell_bits("sort", out.host(), 64);
  tell("sort values", ranks.host(), 256);
  tell("sort, load, store bytes", size.host());
  return 0;
}
#else
int main() { tell("cub", "is not there"); }
#endif
