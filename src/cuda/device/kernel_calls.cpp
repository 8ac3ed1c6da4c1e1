// What kernels call; outside of kernels, too, where most of it has no effect.
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "cuda/device/block.h"
#include "cuda/device/checker.h"
#include "cuda/device/error_codes.h"

namespace torchport::cuda {

void wait_for_block_slowly(const Site& site) {
  if (Block* block = Block::current()) block->wait(0, 0, true, site);
}

void wait_for_threads(unsigned number, unsigned threads, bool wait, const Site& site) {
  if (Block* block = Block::current()) block->wait(number % kGridBarrier, threads, wait, site);
}

void wait_for_tile(unsigned size, unsigned rank, unsigned threads, const Site& site) {
  // One tile of 1024 threads, two of 512, ..., sixteen of 64.
  if (Block* block = Block::current())
    block->wait(kTileBarriers + kMostThreads / size - 1 + rank, threads, true, site);
}

void leave_for_tile(unsigned thread, const void* mine) {
  if (Block* block = Block::current()) block->left_for_tiles.at(thread) = mine;
}
void take_from_tile(unsigned thread, void* to, std::size_t bytes) {
  if (Block* block = Block::current()) std::memcpy(to, block->left_for_tiles.at(thread), bytes);
}

void wait_for_grid(const Site& site) {
  Block* block = Block::current();
  if (block == nullptr) return;
  if (block->launch().barrier == nullptr &&
      block->launch().sizes.grid.x * block->launch().sizes.grid.y * block->launch().sizes.grid.z >
          1)
    block->fail(
        kLaunchFailure,
        fmt::format("the whole grid waits at {}:{}, but the launch was not a cooperative one; "
                    "use cudaLaunchCooperativeKernel",
                    site.file, site.line));
  block->wait(kGridBarrier, 0, true, site);
}

bool is_cooperative() {
  const Block* block = Block::current();
  return block != nullptr && block->launch().sizes.cooperative;
}

const void* exchange_slowly(unsigned mask, const void* mine, std::size_t bytes, const Site& site) {
  Block* block = Block::current();
  return block == nullptr ? mine : block->exchange(mask, mine, bytes, site);
}

void check_lane(unsigned lane, const Site& site) {
  const Block* block = Block::current();
  if (block != nullptr && checker() != nullptr) block->check_lane(lane, site);
}

unsigned active_lanes(const void* site) {
  Block* block = Block::current();
  return block == nullptr ? 1 : block->active_lanes(site);
}

void yield() {
  if (Block* block = Block::current()) block->yield();
}

unsigned number_of_thread() {
  const Block* block = Block::current();
  return block == nullptr ? 0 : block->thread();
}

std::size_t dynamic_shared_bytes() {
  const Block* block = Block::current();
  return block == nullptr ? 0 : block->launch().sizes.shared;
}

void exit_thread() {
  if (Block* block = Block::current()) block->end_thread();
  std::abort();
}

void trap(const char* why) {
  if (Block* block = Block::current()) block->fail(kLaunchFailure, why);
  std::abort();
}

}  // namespace torchport::cuda
