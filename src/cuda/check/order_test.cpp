#include "cuda/check/order.h"

#include <doctest/doctest.h>

namespace torchport::cuda::check {

namespace {

Access made_by(std::uint64_t block, unsigned thread, Stamp stamp) {
  Access one;
  one.who = who_is(block, thread);
  one.stamp = stamp;
  return one;
}

Order begun(std::uint64_t block = 3) {
  Order order;
  order.begin(block, 64, 10, 20);
  return order;
}

}  // namespace

TEST_CASE("what another launch or this thread did came before") {
  const Order order = begun();
  CHECK(order.is_before(made_by(7, 1, 9), 0));
  CHECK(order.is_before(made_by(3, 5, 25), 5));
  CHECK_FALSE(order.is_before(made_by(3, 5, 25), 6));
  CHECK_FALSE(order.is_before(made_by(7, 5, 25), 5));
}

TEST_CASE("a barrier orders the threads of its block") {
  Order order = begun();
  order.all_met(30);
  CHECK(order.is_before(made_by(3, 5, 29), 6));
  CHECK_FALSE(order.is_before(made_by(3, 5, 30), 6));
  CHECK_FALSE(order.is_before(made_by(4, 5, 29), 6));
}

TEST_CASE("__syncwarp() orders the lanes of its mask, and what they know") {
  Order order = begun();
  order.warp_met(1, 0x3, 30);  // threads 32 and 33
  CHECK(order.is_before(made_by(3, 32, 29), 33));
  CHECK_FALSE(order.is_before(made_by(3, 34, 29), 33));
  CHECK_FALSE(order.is_before(made_by(3, 0, 29), 33));
  order.warp_met(1, 0x6, 40);  // threads 33 and 34
  CHECK(order.is_before(made_by(3, 32, 29), 34));
  CHECK_FALSE(order.is_before(made_by(3, 32, 35), 34));
}

TEST_CASE("an atomic write tells of what was fenced") {
  Order order = begun();
  CHECK(order.released(4, false, 30) == 30);
  order.wrote_global(4, 25);
  CHECK(order.released(4, false, 30) == 25);
  CHECK(order.released(4, true, 30) == 30);
  order.fenced(4);
  CHECK(order.released(4, false, 30) == 30);
  order.acquired(9, 28);
  CHECK(order.is_before(made_by(7, 0, 27), 9));
  CHECK_FALSE(order.is_before(made_by(7, 0, 28), 9));
}

TEST_CASE("after a barrier one thread fences for its block") {
  Order order = begun();
  order.wrote_global(4, 25);
  order.all_met(30);
  CHECK(order.released(0, false, 35) == 25);
  order.fenced(0);
  CHECK(order.released(0, false, 36) == 36);
}

TEST_CASE("all blocks meet") {
  Order order = begun();
  order.grid_met(40);
  CHECK(order.is_before(made_by(7, 0, 39), 9));
  CHECK_FALSE(order.is_before(made_by(7, 0, 40), 9));
}

}  // namespace torchport::cuda::check
