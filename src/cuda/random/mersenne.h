// MT19937 (Matsumoto, Nishimura, "Mersenne Twister", 1998) as cuRAND orders it: 8192 segments of
// one sequence, which begin 2^2048 numbers apart. A segment gives eight numbers at a time, whose
// places in its block of 624 are those of kPlaces. Found out from what an H100 answered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace torchport::cuda_random {

class MersenneSegments {
 public:
  static constexpr std::size_t kSegments = 8192;
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kWords = 624;
  static constexpr std::size_t kRows = kWords / kLanes;

  explicit MersenneSegments(std::uint32_t seed);

  // Makes numbers [first, first + count) of the generator's order. Each call goes on where the one
  // before ended, or further on.
  void generate(std::uint64_t first, std::size_t count, std::uint32_t* out);

 private:
  struct Segment {
    std::array<std::uint32_t, kWords> words;
    std::uint64_t block = 0;  // how many blocks came before
  };
  void make_segments(std::size_t count);

  std::vector<Segment> segments_;
};

// Where in a block of 624 numbers a row of a segment has the number of a lane.
std::size_t mersenne_place(std::size_t row, std::size_t lane);

}  // namespace torchport::cuda_random
