#include "runtime/device/stream_clocks.h"

#include <doctest/doctest.h>

namespace torchport::device {

TEST_CASE("a stream is behind itself, and behind another one once it has waited") {
  StreamClocks clocks;
  const StreamNumber first = clocks.number_of({0, 0});
  const StreamNumber second = clocks.number_of({0, 35});
  CHECK(clocks.number_of({0, 0}) == first);
  CHECK(clocks.number_of({1, 0}) != first);
  CHECK(clocks.name(second).id == 35);
  const std::uint64_t work = clocks.start(first);
  CHECK(clocks.is_before(first, work, first));
  CHECK_FALSE(clocks.is_before(first, work, second));
  const Clock event = clocks.recorded(first);
  const std::uint64_t later = clocks.start(first);
  clocks.wait(second, event);
  CHECK(clocks.is_before(first, work, second));
  CHECK_FALSE(clocks.is_before(first, later, second));
}

TEST_CASE("waiting carries over: who waits for a stream waits for what that one waited for") {
  StreamClocks clocks;
  const StreamNumber a = clocks.number_of({0, 0});
  const StreamNumber b = clocks.number_of({0, 1});
  const StreamNumber c = clocks.number_of({1, 0});
  const std::uint64_t work = clocks.start(a);
  const Clock early = clocks.recorded(b);
  clocks.wait(b, clocks.recorded(a));
  clocks.wait(c, early);
  CHECK_FALSE(clocks.is_before(a, work, c));
  clocks.wait(c, clocks.recorded(b));
  CHECK(clocks.is_before(a, work, c));
  CHECK_FALSE(clocks.host_knows(a, work));
}

TEST_CASE("what the host has waited for is before all that is started later") {
  StreamClocks clocks;
  const StreamNumber a = clocks.number_of({0, 0});
  const StreamNumber b = clocks.number_of({0, 1});
  CHECK(clocks.host_knows(clocks.recorded(a)));  // no work
  const std::uint64_t work = clocks.start(a);
  const Clock event = clocks.recorded(a);
  const std::uint64_t later = clocks.start(a);
  clocks.host_waits(event);
  CHECK(clocks.host_knows(event));
  CHECK(clocks.is_before(a, work, b));
  CHECK_FALSE(clocks.is_before(a, later, b));
  CHECK_FALSE(clocks.host_knows(clocks.recorded(a)));
}

}  // namespace torchport::device
