// What a checker of kernels hears of the blocks that run. Without a checker nothing is said.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda/device/fiber.h"
#include "torchport/kernel.h"

namespace torchport::cuda {

class Block;
struct Launch;

// All functions are called by the thread of the host that runs the block, while none of the
// kernel's code runs; those of several blocks of a cooperative launch at the same time.
class Checker {
 public:
  Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  virtual ~Checker() = default;

  virtual void begin(const Launch& launch) = 0;
  virtual void end(const Launch& launch) = 0;
  virtual void begin_block(const Block& block) = 0;
  virtual void end_block(const Block& block) = 0;
  // `waiting` have met at a barrier and go on. `all`: the barrier was for the whole block.
  virtual void met(const Block& block, const std::vector<Fiber*>& waiting, bool all) = 0;
  // These lanes have met in __syncwarp().
  virtual void warp_met(const Block& block, unsigned warp, unsigned lanes) = 0;
  // All blocks of a cooperative launch have met.
  virtual void grid_met(const Block& block) = 0;
  // A thread called a warp function with a mask that does not name it.
  virtual void not_in_mask(const Block& block, unsigned mask, const Site& site) = 0;
  // A warp function went on though lanes of its mask, which have not ended, wait elsewhere.
  virtual void incomplete(const Block& block, unsigned warp, unsigned mask, unsigned came,
                          const Site& site) = 0;
  // A thread reads the value of a lane that is not in the mask, and has not ended.
  virtual void absent_lane(const Block& block, unsigned lane, const Site& site) = 0;
  // A kernel took memory, or gave it back.
  virtual void memory_changed(const void* begin, std::size_t bytes) = 0;
};

// Null: kernels run unchecked. Set before the first kernel runs.
Checker* checker();
void set_checker(Checker* checker);

}  // namespace torchport::cuda
