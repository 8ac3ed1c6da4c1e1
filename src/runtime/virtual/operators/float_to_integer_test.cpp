#include "runtime/virtual/operators/float_to_integer.h"

#include <cmath>

#include <doctest/doctest.h>

namespace torchport::vdev {

TEST_CASE("what fits is rounded towards zero") {
  CHECK(to_integer<std::int32_t>(-1.9F) == -1);
  CHECK(to_integer<std::int64_t>(1.9) == 1);
  CHECK(to_integer<std::uint8_t>(255.5F) == 255);
  CHECK(to_integer<std::int32_t>(-2147483648.0F) == std::numeric_limits<std::int32_t>::min());
  CHECK(to_integer<std::int32_t>(2147483583.0F) == 2147483520);  // the largest float below 2^31
}

TEST_CASE("what does not fit becomes the nearest integer of 32 or 64 bits") {
  CHECK(to_integer<std::int32_t>(2147483648.0F) == std::numeric_limits<std::int32_t>::max());
  CHECK(to_integer<std::int32_t>(-INFINITY) == std::numeric_limits<std::int32_t>::min());
  CHECK(to_integer<std::int64_t>(1e30) == std::numeric_limits<std::int64_t>::max());
  CHECK(to_integer<std::uint32_t>(-1.0F) == 0);
  CHECK(to_integer<std::uint64_t>(1e30F) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("narrow integers keep the lowest bits") {
  CHECK(to_integer<std::int8_t>(300.0F) == 44);
  CHECK(to_integer<std::int16_t>(1e30F) == -1);
  CHECK(to_integer<std::int16_t>(-1e30F) == 0);
  CHECK(to_integer<std::uint8_t>(-1.0F) == 255);
  CHECK(to_integer<std::uint16_t>(-1.0F) == 0);
  CHECK(to_integer<std::uint8_t>(3e9F) == 0);  // through 64 bits: 3e9 is 0xb2d05e00
}

TEST_CASE("what is no number") {
  CHECK(to_integer<std::int32_t>(std::nanf("")) == 0);
  CHECK(to_integer<std::int32_t>(std::nan("")) == std::numeric_limits<std::int32_t>::min());
  CHECK(to_integer<std::int64_t>(std::nanf("")) == std::numeric_limits<std::int64_t>::min());
  CHECK(to_integer<std::uint32_t>(std::nan("")) == std::uint32_t{1} << 31);
  CHECK(to_integer<std::int8_t>(std::nanf("")) == 0);
}

}  // namespace torchport::vdev
