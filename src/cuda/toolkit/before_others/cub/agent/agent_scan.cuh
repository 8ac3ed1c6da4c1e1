// How a block scans its tile in cub's device-wide scans. On a GPU its threads share the tile and meet
// some twenty times; here each of these is a switch between stacks, so one thread scans the tile. The
// order of a tile's elements, of tiles, and what tiles tell each other are those of cub. The rest of the
// class is cub's own, of which other algorithms use parts.
#pragma once
#pragma GCC system_header

#include <cub/config.cuh>
#include <cub/version.cuh>

// The releases with which the tests ran (CUDA 12.6 to 13.3); others keep cub's code.
#if defined(__TORCHPORT_NVCC__) && CUB_VERSION >= 200500 && CUB_VERSION < 300600
#define TORCHPORT_SCANS_TILES
#define AgentScan AgentScanOfManyThreads
#endif

#include_next <cub/agent/agent_scan.cuh>

#ifdef TORCHPORT_SCANS_TILES
#undef AgentScan
#undef TORCHPORT_SCANS_TILES

CUB_NAMESPACE_BEGIN
#if CUB_VERSION >= 200800
namespace detail {
namespace scan {
#endif

template <typename Policy, typename Input, typename Output, typename ScanOp, typename Init,
          typename Offset, typename Accum, bool... Flags>
struct AgentScan
    : AgentScanOfManyThreads<Policy, Input, Output, ScanOp, Init, Offset, Accum, Flags...> {
  using Base = AgentScanOfManyThreads<Policy, Input, Output, ScanOp, Init, Offset, Accum, Flags...>;
  using Base::Base;
  using Base::ConsumeRange;
  using State = ScanTileState<Accum>;

  // The tile of this block, for a grid that has one block for each tile.
  __device__ void ConsumeRange(Offset num_items, State& tile_state, int start_tile) {
    if (threadIdx.x >= 32) return;  // the threads of the first warp wait for the tile before
    const int tile = start_tile + static_cast<int>(blockIdx.x);
    const Offset begin = Offset(Base::TILE_ITEMS) * tile;
    if (begin >= num_items) return;
    const bool is_last = num_items - begin <= Offset(Base::TILE_ITEMS);
    const Offset end = is_last ? num_items : begin + Offset(Base::TILE_ITEMS);
    if (tile == 0) {
      if (threadIdx.x == 0) first_tile(end, is_last, tile_state, this->init_value);
      return;
    }
    Accum sum;  // of the tile
    if (threadIdx.x == 0 && !is_last) sum = sum_of(begin, end);
    typename State::StatusWord status{};
    Accum before;  // the sum of all tiles before
    do tile_state.WaitForValid(tile - 1, status, before);
    while (status != typename State::StatusWord(SCAN_TILE_INCLUSIVE));
    if (threadIdx.x != 0) return;
    if (!is_last) tile_state.SetInclusive(tile, this->scan_op(before, sum));
    scan(begin, end, before);
  }

 private:
  __device__ Accum sum_of(Offset begin, Offset end) {
    Accum sum = this->d_in[begin];
    for (Offset i = begin + 1; i < end; ++i) sum = this->scan_op(sum, Accum(this->d_in[i]));
    return sum;
  }

  // Without an initial value.
  __device__ void first_tile(Offset end, bool is_last, State& tile_state, NullType) {
    if (!is_last) tile_state.SetInclusive(0, sum_of(0, end));
    Accum sum = this->d_in[0];
    this->d_out[0] = sum;
    if (end > 1) scan(1, end, sum);
  }
  template <typename Value>
  __device__ void first_tile(Offset end, bool is_last, State& tile_state, const Value& init) {
    if (!is_last) tile_state.SetInclusive(0, this->scan_op(init, sum_of(0, end)));
    scan(0, end, init);
  }

  // Elements [begin, end), behind those whose result is `sum`.
  __device__ void scan(Offset begin, Offset end, Accum sum) {
    for (Offset i = begin; i < end; ++i) {
      const Accum next = this->scan_op(sum, Accum(this->d_in[i]));
      this->d_out[i] = Base::IS_INCLUSIVE ? next : sum;
      sum = next;
    }
  }
};

#if CUB_VERSION >= 200800
}  // namespace scan
}  // namespace detail
#endif
CUB_NAMESPACE_END
#endif
