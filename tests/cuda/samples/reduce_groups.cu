// Cooperative groups on several levels: tiles of 8, warps, tiles of two warps, the block, the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "sample.h"

namespace cg = cooperative_groups;

template <class Group>
__device__ int sum_of_group(const Group& group, int* scratch, int value) {
  const int lane = group.thread_rank();
  for (int i = group.size() / 2; i > 0; i /= 2) {
    scratch[lane] = value;
    group.sync();
    if (lane < i) value += scratch[lane + i];
    group.sync();
  }
  return value;  // of the first thread
}

__global__ void levels(const int* in, int* blocks, int* tiles, int* pairs) {
  __shared__ int scratch[256];
  cg::thread_block block = cg::this_thread_block();
  const int i = block.group_index().x * block.size() + block.thread_rank();
  const int value = in[i];
  const int total = sum_of_group(block, scratch, value);
  if (block.thread_rank() == 0) blocks[block.group_index().x] = total;
  block.sync();

  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  const int of_tile = cg::reduce(tile, value, cg::plus<int>());
  const int scanned = cg::exclusive_scan(tile, value);
  if (tile.thread_rank() == tile.size() - 1 && scanned + value != of_tile)
    atomicExch(&tiles[0], -1);
  tile.sync();
  if (tile.thread_rank() == 0) tiles[1 + (i / 32) * 4 + tile.meta_group_rank()] = of_tile;

  cg::thread_group two = cg::tiled_partition(cg::this_thread_block(), 16);
  int* mine = scratch + block.thread_rank() / 16 * 16;
  const int of_two = sum_of_group(two, mine, value);
  if (two.thread_rank() == 0) pairs[i / 16] = of_two;
}

__global__ void tiles_of_two_warps(const int* in, int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const int sum = cg::reduce(tile, value, cg::plus<int>());
  if (tile.thread_rank() == 0)
    out[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = sum;
}

__global__ void whole(const int* in, long long* partial, long long* out, int n) {
  extern __shared__ long long shared[];
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  long long mine = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += in[i];
  auto warp = cg::tiled_partition<32>(block);
  mine = cg::reduce(warp, mine, cg::plus<long long>());
  if (warp.thread_rank() == 0) shared[warp.meta_group_rank()] = mine;
  block.sync();
  if (block.thread_rank() == 0) {
    long long sum = 0;
    for (unsigned w = 0; w < warp.meta_group_size(); ++w) sum += shared[w];
    partial[blockIdx.x] = sum;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    long long sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
    *out = sum;
  }
}

int main() {
  const int n = 2048;
  std::vector<int> values(n), blocks(n / 256), tiles(1 + n / 8), pairs(n / 16), two_warps(n / 64);
  Numbers numbers(5);
  long long total = 0;
  for (int i = 0; i < n; ++i) {
    values[i] = int(numbers.next() % 1000) - 300;
    blocks[i / 256] += values[i];
    tiles[1 + i / 8] += values[i];
    pairs[i / 16] += values[i];
    two_warps[i / 64] += values[i];
    total += values[i];
  }
  Array<int> in(values), a(blocks.size()), b(tiles.size()), c(pairs.size()), d(two_warps.size());
  b.clear();
  levels<<<n / 256, 256>>>(in, a, b, c);
  bool right = a.host() == blocks && b.host() == tiles && c.host() == pairs;
  tiles_of_two_warps<<<n / 256, 256>>>(in, d);
  right = right && d.host() == two_warps;

  Array<long long> partial(4), out(1);
  const int* in_pointer = in;
  long long *partial_pointer = partial, *out_pointer = out;
  int count = n;
  void* arguments[] = {&in_pointer, &partial_pointer, &out_pointer, &count};
  CHECK(cudaLaunchCooperativeKernel((void*)whole, 4, 128, arguments, 4 * sizeof(long long), 0));
  return finish("reduce_groups", right && out.host()[0] == total);
}
