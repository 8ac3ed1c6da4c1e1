#include "runtime/device/access_history.h"

#include <doctest/doctest.h>

namespace torchport::device {

namespace {

constexpr std::uint64_t kAt = 4096;

// Two streams of a device, and a block of 1,024 bytes of the first one.
struct TwoStreams {
  StreamClocks clocks;
  AccessHistory history{clocks};
  StreamNumber first = clocks.number_of({0, 0});
  StreamNumber second = clocks.number_of({0, 35});

  TwoStreams() { history.allocate(kAt, 1024, first); }

  std::size_t races(StreamNumber stream, bool writes, Region region) {
    Access access{std::move(region), stream, clocks.start(stream), writes, 0};
    return history.add(kAt, std::move(access)).size();
  }
  std::size_t writes(StreamNumber stream) { return races(stream, true, all()); }
  std::size_t reads(StreamNumber stream) { return races(stream, false, all()); }
  static Region all() { return Region::of(kAt, 4, {{256, 4}}); }
};

}  // namespace

TEST_CASE("columns of a matrix have no byte in common, its rows and columns have") {
  const Region left = Region::of(0, 4, {{8, 32}, {4, 4}});
  const Region right = Region::of(16, 4, {{8, 32}, {4, 4}});
  const Region row = Region::of(32, 4, {{8, 4}});
  CHECK_FALSE(overlap(left, right));
  CHECK(overlap(left, left));
  CHECK(overlap(row, left));
  CHECK(overlap(right, row));
  CHECK_FALSE(overlap(row, Region::of(64, 4, {{8, 4}})));
  CHECK(Region::of(0, 4, {{1, 99}, {8, 4}, {5, 0}}) == Region::of(0, 4, {{8, 4}}));
}

TEST_CASE("an access that does not wait for a write, or writes what is being read, is found") {
  TwoStreams t;
  CHECK(t.writes(t.first) == 0);
  CHECK(t.reads(t.second) == 1);
  t.clocks.wait(t.second, t.clocks.recorded(t.first));
  CHECK(t.reads(t.second) == 0);
  CHECK(t.reads(t.first) == 0);  // two reads need no order
  CHECK(t.writes(t.first) == 1);
  t.clocks.host_waits(t.clocks.recorded(t.second));
  CHECK(t.writes(t.first) == 0);
}

TEST_CASE("streams may work on two halves of a block") {
  TwoStreams t;
  CHECK(t.races(t.first, true, Region::of(kAt, 4, {{128, 4}})) == 0);
  CHECK(t.races(t.second, true, Region::of(kAt + 512, 4, {{128, 4}})) == 0);
  CHECK(t.races(t.second, false, Region::of(kAt + 508, 4, {})) == 1);
}

TEST_CASE("freed memory that another stream uses must not be used again before it is done") {
  TwoStreams t;
  t.writes(t.first);
  t.clocks.wait(t.second, t.clocks.recorded(t.first));
  t.reads(t.second);
  SUBCASE("without a wait") {
    t.history.free(kAt);
    t.history.allocate(kAt, 1024, t.first);
    CHECK(t.writes(t.first) == 1);
  }
  SUBCASE("with record_stream") {
    t.history.record_stream(kAt, t.second);
    t.history.free(kAt);
    t.history.allocate(kAt, 1024, t.first);
    CHECK(t.writes(t.first) == 0);
  }
  SUBCASE("after the owner has waited") {
    t.clocks.wait(t.first, t.clocks.recorded(t.second));
    t.history.free(kAt);
    t.history.allocate(kAt, 1024, t.first);
    CHECK(t.writes(t.first) == 0);
  }
  SUBCASE("when the owner waits before it writes") {
    t.history.free(kAt);
    t.history.allocate(kAt, 1024, t.first);
    t.clocks.wait(t.first, t.clocks.recorded(t.second));
    CHECK(t.writes(t.first) == 0);
  }
}

}  // namespace torchport::device
