#include "cuda/check/async_copies.h"

#include <array>

#include <doctest/doctest.h>

namespace torchport::cuda::check {

TEST_CASE("a copy is there until its thread has waited for its group") {
  std::array<char, 64> memory{};
  AsyncCopies copies;
  CHECK(copies.empty());
  copies.add(1, memory.data(), 16, 5);
  copies.commit(1);
  copies.add(1, memory.data() + 16, 16, 6);
  copies.commit(1);
  copies.add(2, memory.data() + 32, 16, 7);
  REQUIRE(copies.find(memory.data() + 12, 8) != nullptr);
  CHECK(copies.find(memory.data() + 15, 1)->site == 5);
  CHECK(copies.find(memory.data() + 16, 4)->site == 6);
  CHECK(copies.find(memory.data() + 48, 4) == nullptr);
  CHECK(copies.wait(1, 1, false).size() == 1);
  CHECK(copies.find(memory.data(), 16) == nullptr);
  CHECK(copies.wait(2, 0, false).empty());  // its group is not committed
  CHECK(copies.wait(2, 0, true).size() == 1);
  CHECK(copies.wait(1, 0, false).size() == 1);
  CHECK(copies.empty());
}

TEST_CASE("a copy to bytes of another one takes its place") {
  std::array<char, 64> memory{};
  AsyncCopies copies;
  copies.add(1, memory.data(), 16, 5);
  copies.add(1, memory.data() + 16, 16, 5);
  copies.add(2, memory.data() + 8, 16, 9);
  CHECK(copies.find(memory.data(), 4) == nullptr);
  CHECK(copies.find(memory.data() + 8, 4)->thread == 2);
  CHECK(copies.find(memory.data() + 24, 8) == nullptr);
}

}  // namespace torchport::cuda::check
