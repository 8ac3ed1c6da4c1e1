#include "base/nearest.h"

#include <array>

#include <doctest/doctest.h>

namespace torchport::base {
namespace {

constexpr std::array<std::string_view, 4> kNames{"check", "explain", "TP101", "ci"};

TEST_CASE("the nearest name is the one with the fewest other letters") {
  CHECK(nearest("chekc", kNames) == "check");
  CHECK(nearest("EXPLIAN", kNames) == "explain");
  CHECK(nearest("tp1o1", kNames) == "TP101");
  CHECK(did_you_mean("chek", kNames) == "; did you mean \"check\"?");
}

TEST_CASE("a word that is like none has no nearest name") {
  CHECK(nearest("nonsense", kNames).empty());
  CHECK(nearest("check", {}).empty());
  CHECK(did_you_mean("nonsense", kNames).empty());
}

}  // namespace
}  // namespace torchport::base
