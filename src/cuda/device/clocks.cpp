// The clocks of a device, and barriers that count.
#include <chrono>
#include <ctime>
#include <mutex>

#include "cuda/device/block.h"
#include "torchport/atomics.h"
#include "torchport/block_functions.h"

namespace torchport::cuda {

unsigned long long device_nanoseconds() {
  if (Block* block = Block::current()) block->leave_if_failed();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

unsigned long long device_clock() {
  // 1.755 GHz, in whole numbers.
  return device_nanoseconds() / 1000 * 1755 + device_nanoseconds() % 1000 * 1755 / 1000;
}

long clock_here() {
  return Block::current() == nullptr ? ::clock() : static_cast<int>(device_clock());
}

void lock_wide_atomics(bool lock) {
  static std::mutex mutex;
  if (lock)
    mutex.lock();
  else
    mutex.unlock();
}

int count_in_block(bool predicate, const Site& site) {
  Block* block = Block::current();
  return block == nullptr ? (predicate ? 1 : 0) : block->count(predicate, site);
}

}  // namespace torchport::cuda
