// Cooperative groups: ranks and sizes of each kind, collectives, grids and clusters.
#include "told.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace {

namespace cg = cooperative_groups;

template <int kSize>
__global__ void tiles(int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<kSize>(block);
  int t = block.thread_rank(), n = block.num_threads();
  out[t] = tile.thread_rank() + 1000 * tile.meta_group_rank();
  out[n + t] = tile.num_threads() + 1000 * tile.meta_group_size();
  out[2 * n + t] = tile.shfl(t, kSize / 2) * 1000 + tile.shfl_down(t, 1);
  out[3 * n + t] = tile.shfl_up(t, 1) * 1000 + tile.shfl_xor(t, 1 % kSize);
  out[4 * n + t] = tile.ballot(t % 3 == 0);
  out[5 * n + t] = tile.any(t == 5) * 2 + tile.all(t < 40);
  out[6 * n + t] = cg::reduce(tile, t, cg::plus<int>());
  out[7 * n + t] = cg::inclusive_scan(tile, t + 1);
  out[8 * n + t] = cg::exclusive_scan(tile, t + 1);
  out[9 * n + t] = cg::reduce(tile, t * 37 % 11, cg::greater<int>());
  out[10 * n + t] = cg::exclusive_scan(tile, t * 37 % 11, cg::greater<int>());
  out[11 * n + t] = tile.match_any(t % 5);
}

template <int kSize>
__global__ void sums(const float* in, float* out) {
  auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  int t = threadIdx.x;
  out[t] = cg::reduce(tile, in[t], cg::plus<float>());
  out[64 + t] = cg::inclusive_scan(tile, in[t], cg::plus<float>());
  out[128 + t] = cg::exclusive_scan(tile, in[t], cg::plus<float>());
}

__global__ void coalesced(int* out, const float* in, float* floats) {
  auto block = cg::this_thread_block();
  int t = block.thread_rank();
  for (int i = 0; i < 10; ++i) out[i * 64 + t] = -1;
  if (t % 3 != 1) {
    auto active = cg::coalesced_threads();
    out[t] = active.thread_rank() + 1000 * active.num_threads();
    out[64 + t] = active.shfl(t, 2), out[128 + t] = active.shfl_up(t, 2), out[192 + t] = active.shfl_down(t, 2);
    out[256 + t] = active.ballot(t % 2);
    out[320 + t] = cg::reduce(active, t, cg::plus<int>());
    out[384 + t] = cg::exclusive_scan(active, t);
    out[448 + t] = active.meta_group_rank() + 1000 * active.meta_group_size();
    auto label = cg::labeled_partition(active, t % 4);
    out[512 + t] = label.thread_rank() + 100 * label.num_threads() + 10000 * label.meta_group_rank() + 1000000 * label.meta_group_size();
    auto binary = cg::binary_partition(active, t % 8 > 2);
    out[576 + t] = binary.thread_rank() + 100 * binary.num_threads() + 10000 * binary.meta_group_rank() + 1000000 * binary.meta_group_size();
    floats[t] = cg::reduce(active, in[t], cg::plus<float>());
    floats[64 + t] = cg::inclusive_scan(active, in[t], cg::plus<float>());
    auto quarter = cg::tiled_partition(active, 4);
    out[640 + t] = quarter.thread_rank() + 100 * quarter.num_threads() + 10000 * quarter.meta_group_rank();
  }
}

__global__ void blocks(int* out) {
  auto block = cg::this_thread_block();
  if (blockIdx.x != 1 || blockIdx.y != 0) return;
  int t = block.thread_rank();
  dim3 index = block.group_index(), thread = block.thread_index(), size = block.group_dim(), dims = block.dim_threads();
  out[t] = index.x + 10 * index.y + 100 * index.z + 1000 * thread.x + 10000 * thread.y + 100000 * thread.z;
  out[24 + t] = size.x + 10 * size.y + 100 * size.z + 1000 * dims.x;
}

__global__ void grid(unsigned long long* out, int* counter) {
  auto all = cg::this_grid();
  atomicAdd(counter, 1);
  all.sync();
  int seen = *reinterpret_cast<volatile int*>(counter);
  all.sync();
  out[all.thread_rank()] = seen + 1000ull * all.block_rank() + 1000000ull * all.num_blocks() + 1000000000ull * all.num_threads() +
                           100000000000ull * all.is_valid();
}

#if __CUDACC_VER_MAJOR__ >= 12
__global__ void clusters(unsigned* out) {
#if __CUDA_ARCH__ >= 900
  auto cluster = cg::this_cluster();
  __shared__ unsigned kept;
  unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  if (threadIdx.x == 0) kept = 100 + block;
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  unsigned other = *cluster.map_shared_rank(&kept, next);
  if (threadIdx.x == 0) {
    dim3 index = cluster.block_index(), size = cluster.dim_blocks();
    unsigned* mine = out + block * 6;
    mine[0] = cluster.block_rank(), mine[1] = cluster.num_blocks(), mine[2] = cluster.num_threads();
    mine[3] = index.x + 10 * index.y, mine[4] = size.x + 10 * size.y, mine[5] = other;
  }
  cluster.sync();
#endif
}
#endif

template <int kSize>
void ask_tiles() {
  std::string name = "tile " + std::to_string(kSize);
  Array<int> out(12 * 96);
  tiles<kSize><<<1, 96>>>(out);
  FINISH();
  auto all = out.host();
  const char* what[] = {"rank", "size", "shfl", "shfl_up xor", "ballot", "any all", "sum", "inclusive", "exclusive", "greater",
                        "exclusive greater", "match_any"};
  for (int k = 0; k < 12; ++k)
    tell(name + " " + what[k], std::vector<int>(all.begin() + k * 96, all.begin() + k * 96 + 96));
  std::vector<float> values(64);
  Numbers numbers;
  for (float& x : values) x = numbers.unit() * (numbers.word() % 7 ? 1.0f : 1000.0f);
  Array<float> in(values), bits(192);
  sums<kSize><<<1, 64>>>(in, bits);
  FINISH();
  tell_bits(name + " float sums", bits.host(), 192);
}

}  // namespace

int main() {
  ask_tiles<32>(), ask_tiles<16>(), ask_tiles<8>(), ask_tiles<4>(), ask_tiles<2>(), ask_tiles<1>();
  std::vector<float> values(64);
  Numbers numbers;
  for (float& x : values) x = numbers.unit() * 10;
  Array<float> in(values), floats(128);
  Array<int> out(11 * 64);
  coalesced<<<1, 64>>>(out, in, floats);
  FINISH();
  auto all = out.host();
  const char* what[] = {"rank", "shfl", "shfl_up", "shfl_down", "ballot", "sum", "exclusive", "meta", "labeled", "binary", "tile 4"};
  for (int k = 0; k < 11; ++k)
    tell(std::string("coalesced ") + what[k], std::vector<int>(all.begin() + k * 64, all.begin() + k * 64 + 64));
  tell_bits("coalesced floats", floats.host(), 128);
  Array<int> of_block(48);
  blocks<<<dim3(2, 2, 1), dim3(4, 3, 2)>>>(of_block);
  FINISH();
  tell("block", of_block.host());
  Array<unsigned long long> of_grid(96);
  Array<int> counter(1);
  unsigned long long* grid_out = of_grid;
  int* count = counter;
  void* words[] = {&grid_out, &count};
  CHECK(cudaLaunchCooperativeKernel((void*)grid, dim3(3), dim3(32), words, 0, nullptr));
  FINISH();
  tell("grid", of_grid.host());
#if __CUDACC_VER_MAJOR__ >= 12
  for (dim3 size : {dim3(1), dim3(2), dim3(4), dim3(2, 2), dim3(8)}) {
    Array<unsigned> told(16 * 6);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8, 2), config.blockDim = 32;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size.x, attribute.val.clusterDim.y = size.y, attribute.val.clusterDim.z = 1;
    config.attrs = &attribute, config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, clusters, static_cast<unsigned*>(told)));
    FINISH();
    tell("cluster " + std::to_string(size.x) + " " + std::to_string(size.y), told.host());
  }
#endif
  return 0;
}
