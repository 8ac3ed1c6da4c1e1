#include <random>

#include <doctest/doctest.h>

#include "source/project/fix.h"

namespace torchport::project {
namespace {

TEST_CASE("edits by lines are as short as what differs") {
  using Edits = std::vector<edit::Edit>;
  CHECK(line_edits("a\nb\n", "a\nb\n").empty());
  CHECK(line_edits("", "x").size() == 1);
  CHECK(line_edits("x = y.cuda()\n", "x = y.to(d)\n") == Edits{{{6, 11}, "to(d"}});
  CHECK(line_edits("a\nb\nc\n", "a\nX\nb\nc\n") == Edits{{{2, 2}, "X\n"}});
  CHECK(line_edits("a\r\nb\r\n", "a;\r\nb\r\n") == Edits{{{1, 1}, ";"}});
}

TEST_CASE("edits by lines give the other text and split no character") {
  const std::vector<std::string> pieces{"a", "é", "è", "😀", "😁", "\n", "\r\n", "  x = 1\n"};
  std::mt19937 random(3);
  const auto text = [&](std::size_t most) {
    std::string result;
    for (std::size_t i = random() % most; i > 0; --i) result += pieces[random() % pieces.size()];
    return result;
  };
  for (int round = 0; round < 500; ++round) {
    const std::string before = text(20);
    std::string after = text(20);
    if (round % 2 == 0) after.insert(0, before);
    const auto edits = line_edits(before, after);
    CHECK(edit::apply_edits(before, edits) == after);
    for (const edit::Edit& edit : edits)
      for (const std::uint32_t at : {edit.span.start, edit.span.end})
        CHECK((at >= before.size() || (static_cast<unsigned char>(before[at]) & 0xC0U) != 0x80U));
  }
}

}  // namespace
}  // namespace torchport::project
