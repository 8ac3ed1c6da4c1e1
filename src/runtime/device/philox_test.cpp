// Tests the generator with the known answers of Random123 (tests/kat_vectors).
#include "runtime/device/philox.h"

#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

namespace torchport {

namespace {

using device::philox4x32_10;
using device::philox4x32_7;
using device::PhiloxBatch;
using device::PhiloxBlock;
using device::PhiloxPlace;

TEST_CASE("philox4x32-10 gives the known answers of Random123") {
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) ==
        PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox4x32-7 gives the known answers of Random123") {
  CHECK(philox4x32_7({0, 0, 0, 0}, {0, 0}) ==
        PhiloxBlock{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48});
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox4x32_7({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        PhiloxBlock{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662});
  CHECK(philox4x32_7({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a});
}

TEST_CASE("a place counts draws in the lower half of the counter, subsequences in the upper") {
  const PhiloxPlace start{0x299f31d0'a4093822, 0};
  CHECK(start.draw(0x03707344'13198a2e, 0x85a308d3'243f6a88) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  CHECK(PhiloxPlace{7, 40}.draw(5) == PhiloxPlace{7, 0}.draw(5, 10));
}

TEST_CASE("a batch is the draws one by one") {
  const PhiloxPlace place{99, 12};
  PhiloxBatch batch;
  const std::uint64_t first = 0xffff'fff0;  // the subsequence crosses 32 bits
  batch.fill(place, first, 3, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    const PhiloxBlock drawn = place.draw(first + i, 3);
    for (std::size_t word = 0; word < 4; ++word) CHECK(batch.words[word][i] == drawn[word]);
  }
}

}  // namespace

}  // namespace torchport
