// Philox4x32-10, the counter-based generator of CUDA's random numbers: J. Salmon et al., "Parallel
// Random Numbers: As Easy as 1, 2, 3", SC 2011.
//
// A block of four numbers is a function of a key (the seed) and a counter of 128 bits, so that any
// number of a sequence can be computed alone and in any order. cuRAND divides the counter: the
// upper half is the subsequence (the thread that draws), the lower half is the position in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace torchport::device {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// The four numbers for a counter; word 0 of both is the lowest. cuRAND makes ten rounds, and
// FlashAttention seven, the fewest that pass the tests of the paper.
template <int kRounds>
[[nodiscard]] constexpr PhiloxBlock philox4x32(PhiloxBlock counter,
                                               std::array<std::uint32_t, 2> key) {
  constexpr std::uint32_t kFirstFactor = 0xD2511F53;
  constexpr std::uint32_t kSecondFactor = 0xCD9E8D57;
  constexpr std::uint32_t kFirstStep = 0x9E3779B9;   // the golden ratio
  constexpr std::uint32_t kSecondStep = 0xBB67AE85;  // the square root of 3, less 1
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t first = std::uint64_t{kFirstFactor} * counter[0];
    const std::uint64_t second = std::uint64_t{kSecondFactor} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key[0] += kFirstStep;
    key[1] += kSecondStep;
  }
  return counter;
}

[[nodiscard]] constexpr PhiloxBlock philox4x32_10(PhiloxBlock counter,
                                                  std::array<std::uint32_t, 2> key) {
  return philox4x32<10>(counter, key);
}

[[nodiscard]] constexpr PhiloxBlock philox4x32_7(PhiloxBlock counter,
                                                 std::array<std::uint32_t, 2> key) {
  return philox4x32<7>(counter, key);
}

// A place in the sequences of one seed, as cuRAND's curand_init(seed, subsequence, offset) sets it.
// Offsets count numbers, not blocks; here they are multiples of 4.
struct PhiloxPlace {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;

  // The `block`th four numbers that a subsequence draws from here.
  [[nodiscard]] constexpr PhiloxBlock draw(std::uint64_t subsequence,
                                           std::uint64_t block = 0) const {
    const std::uint64_t position = offset / 4 + block;
    return philox4x32_10(
        {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32U),
         static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32U)},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)});
  }
};

// What consecutive subsequences draw: word w of subsequence `first + i` is at words[w][i]. Apart
// from each other, so that the compiler computes several at once.
struct PhiloxBatch {
  static constexpr std::size_t kSize = 512;
  std::array<std::array<std::uint32_t, kSize>, 4> words;

  // Fills the first `count` (at most kSize) of each word with the `block`th draw from `place`.
  void fill(const PhiloxPlace& place, std::uint64_t first, std::uint64_t block, std::size_t count);
};

}  // namespace torchport::device
