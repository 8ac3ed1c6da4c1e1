#include "cuda/check/shadow.h"

#include <vector>

#include <doctest/doctest.h>

namespace torchport::cuda::check {

TEST_CASE("cells are words until bytes are used apart") {
  Shadow shadow;
  std::vector<std::size_t> steps;
  const auto count = [&](Cell& /*cell*/, std::size_t step) { steps.push_back(step); };
  shadow.for_cells(0x1000, 8, count);
  CHECK(steps == std::vector<std::size_t>{4, 4});
  shadow.for_cells(0x1000, 4, [](Cell& cell, std::size_t) { cell.write.stamp = 7; });
  steps.clear();
  shadow.for_cells(0x1001, 2, count);
  CHECK(steps == std::vector<std::size_t>{1, 1});
  std::vector<Stamp> written;
  shadow.for_cells(0x1000, 5,
                   [&](Cell& cell, std::size_t) { written.push_back(cell.write.stamp); });
  CHECK(written == std::vector<Stamp>{7, 7, 7, 7, 0});
}

TEST_CASE("an access may lie in two pages") {
  Shadow shadow;
  std::size_t bytes = 0;
  shadow.for_cells(0x1000 + 1020, 16, [&](Cell& cell, std::size_t step) {
    bytes += step;
    cell.write.stamp = 3;
  });
  CHECK(bytes == 16);
  shadow.for_cells(0x1400, 4, [](Cell& cell, std::size_t) { CHECK(cell.write.stamp == 3); });
}

}  // namespace torchport::cuda::check
