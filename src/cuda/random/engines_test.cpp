#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>

#include "cuda/random/mersenne.h"
#include "cuda/random/numbers.h"
#include "cuda/random/parallel.h"
#include "cuda/random/poisson_table.h"
#include "cuda/random/sobol_directions.h"

namespace torchport::cuda_random {

namespace {

std::vector<unsigned> bits_of(Engine& engine, std::size_t count) {
  std::vector<unsigned> out(count);
  engine.draw({}, count, out.data());
  return out;
}

std::vector<unsigned> first_of(curandRngType type, std::uint64_t seed, std::uint64_t offset = 0,
                               curandOrdering ordering = CURAND_ORDERING_PSEUDO_BEST) {
  return bits_of(*make_engine({type, ordering, seed, offset, 1}), 3);
}

}  // namespace

TEST_CASE("generators give what an H100 gave") {
  CHECK(first_of(CURAND_RNG_PSEUDO_XORWOW, 0) ==
        std::vector<unsigned>{0xbd7f03b6, 0xebc63fb7, 0x09fd3f29});
  CHECK(first_of(CURAND_RNG_PSEUDO_XORWOW, 0, 7) ==
        std::vector<unsigned>{0x1c246aca, 0x78603ef1, 0x8360a905});
  CHECK(first_of(CURAND_RNG_PSEUDO_XORWOW, 777, 100000, CURAND_ORDERING_PSEUDO_DYNAMIC)[0] ==
        0x3f46f45c);
  CHECK(first_of(CURAND_RNG_PSEUDO_XORWOW, 0, 0, CURAND_ORDERING_PSEUDO_SEEDED)[1] == 0x212658b8);
  CHECK(first_of(CURAND_RNG_PSEUDO_MRG32K3A, 0) ==
        std::vector<unsigned>{0x2083cd07, 0x14537e00, 0x43115831});
  CHECK(first_of(CURAND_RNG_PSEUDO_MRG32K3A, 777, 100000, CURAND_ORDERING_PSEUDO_LEGACY)[0] ==
        0x30a77b83);
  CHECK(first_of(CURAND_RNG_PSEUDO_PHILOX4_32_10, 0) ==
        std::vector<unsigned>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c});
  CHECK(first_of(CURAND_RNG_PSEUDO_MT19937, 777) ==
        std::vector<unsigned>{0x2714f867, 0x7bc8b85b, 0x01e435b8});
  CHECK(first_of(CURAND_RNG_QUASI_SOBOL32, 0) ==
        std::vector<unsigned>{0x00000000, 0x80000000, 0xc0000000});
}

TEST_CASE("a draw goes on where the one before ended") {
  for (const curandRngType type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_PHILOX4_32_10,
                                   CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_QUASI_SOBOL32}) {
    const auto parts = make_engine({type, CURAND_ORDERING_PSEUDO_BEST, 5, 0, 1});
    const auto whole = make_engine({type, CURAND_ORDERING_PSEUDO_BEST, 5, 0, 1});
    std::vector<unsigned> sum;
    for (const std::size_t count : {1, 10, 0, 999, 5000})
      for (const unsigned one : bits_of(*parts, count)) sum.push_back(one);
    CHECK(sum == bits_of(*whole, sum.size()));
  }
}

TEST_CASE("the segments of MT19937 go on behind the first block") {
  // The second segment, whose first places an H100 gave; each place of 78 rows is there once.
  MersenneSegments segments(777);
  std::vector<std::uint32_t> out(16);
  segments.generate(0, 16, out.data());
  CHECK(out[10] == 0x35e4676c);
  CHECK(out[15] == 0x9a14a674);
  std::vector<int> seen(MersenneSegments::kWords);
  for (std::size_t row = 0; row < MersenneSegments::kRows; ++row)
    for (std::size_t lane = 0; lane < MersenneSegments::kLanes; ++lane)
      ++seen[mersenne_place(row, lane)];
  CHECK(seen == std::vector<int>(MersenneSegments::kWords, 1));
}

TEST_CASE("a table of Poisson numbers has their probabilities") {
  const PoissonTable table(10);
  CHECK(table.threshold.size() == 304);  // as an H100's
  std::vector<double> share(table.threshold.size());
  for (std::size_t i = 0; i < share.size(); ++i) {
    share[i] += table.threshold[i];
    share[table.other[i] - table.least] += 1 - table.threshold[i];
  }
  CHECK(share[10] / 304.0 == doctest::Approx(0.125110035721133));
  CHECK(share[0] / 304.0 == doctest::Approx(4.5399929762e-05));
  CHECK(table.ordered_value(1e-9) == 0);
  CHECK(table.ordered_value(0.5) == 10);
  CHECK(table.value(1) < 304);
  CHECK(PoissonTable(1000).least == 71);
}

TEST_CASE("directions of Sobol sequences are those of Joe and Kuo") {
  CHECK(sobol_dimensions() == 50);
  const auto& all = sobol_directions_32();
  REQUIRE(all.size() == std::size_t{50} * 32);
  CHECK(all[0] == 0x80000000);
  CHECK(all[31] == 1);
  CHECK(all[32 + 1] == 0xc0000000);
  CHECK(all[32 + 5] == 0xcc000000);
  CHECK(sobol_directions_64()[64 + 5] == 0xcc00000000000000);
}

TEST_CASE("parts of a range are all of it") {
  std::vector<int> seen(1001);
  in_parallel(seen.size(), 10, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) ++seen[i];
  });
  CHECK(seen == std::vector<int>(1001, 1));
}

}  // namespace torchport::cuda_random
