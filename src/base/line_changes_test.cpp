#include "base/line_changes.h"

#include <doctest/doctest.h>

namespace torchport::base {
namespace {

using Lines = std::vector<std::string>;

Lines applied(Lines lines, const std::vector<LineChange>& changes) {
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto start = lines.begin() + static_cast<std::ptrdiff_t>(change->start);
    const auto place = lines.erase(start, start + static_cast<std::ptrdiff_t>(change->removed));
    lines.insert(place, change->added.begin(), change->added.end());
  }
  return lines;
}

TEST_CASE("a text is its lines with their ends") {
  CHECK(whole_lines("").empty());
  CHECK(whole_lines("a\n\nb") == Lines{"a\n", "\n", "b"});
  CHECK(whole_lines("a\n") == Lines{"a\n"});
}

TEST_CASE("changes are as small as they can be, and make the other text") {
  const Lines before{"a", "b", "c", "d", "e"};
  const auto count = [&](const Lines& after) {
    const auto changes = changed_lines(before, after);
    CHECK(applied(before, changes) == after);
    return changes.size();
  };
  CHECK(count(before) == 0);
  CHECK(count({}) == 1);
  CHECK(count({"a", "x", "c", "d", "e"}) == 1);
  CHECK(count({"x", "a", "b", "c", "d", "e", "y"}) == 2);
  CHECK(count({"b", "c", "x", "y", "e"}) == 2);
  CHECK(count({"a", "b", "d", "e", "e"}) == 2);
  CHECK(applied({}, changed_lines({}, before)) == before);
}

TEST_CASE("texts of which all lines differ are one change") {
  const Lines before(30'000, "a");
  const Lines after(30'000, "b");
  const auto changes = changed_lines(before, after);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].removed == before.size());
  CHECK(changes[0].added == after);
}

}  // namespace
}  // namespace torchport::base
