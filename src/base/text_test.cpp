#include "base/text.h"

#include <doctest/doctest.h>

namespace torchport::base {
namespace {

TEST_CASE("lines end with LF, CRLF or CR") {
  const std::string_view text = "a\nbc\r\nd\re";
  const LineIndex lines(text);
  REQUIRE(lines.line_count() == 4);
  CHECK(lines.line(1) == "a");
  CHECK(lines.line(2) == "bc");
  CHECK(lines.line(3) == "d");
  CHECK(lines.line(4) == "e");
  CHECK(lines.line(99) == "e");
  CHECK(lines.at(static_cast<std::uint32_t>(text.find('d'))).line == 3);
  CHECK(lines.at(static_cast<std::uint32_t>(text.find('e'))).line == 4);
}

TEST_CASE("columns count characters, also far into a long line") {
  std::string text = "x = '";
  for (int i = 0; i < 5000; ++i) text += "\xE2\x82\xAC";
  text += "' + y\n\xC3\xA9z";
  const LineIndex lines(text);
  const LineColumn y = lines.at(static_cast<std::uint32_t>(text.find('y')));
  CHECK(y.line == 1);
  CHECK(y.column == 5 + 5000 + 4 + 1);
  const LineColumn z = lines.at(static_cast<std::uint32_t>(text.find('z')));
  CHECK(z.line == 2);
  CHECK(z.column == 2);
}

TEST_CASE("offsets beyond the end are the end") {
  const LineIndex empty("");
  CHECK(empty.at(10).line == 1);
  CHECK(empty.at(10).column == 1);
  CHECK(empty.line(1).empty());
  CHECK(LineIndex("ab\n").at(100).line == 2);
}

TEST_CASE("words are whole words") {
  CHECK(contains_word("import torch.nn", "torch"));
  CHECK(!contains_word("import torchvision", "torch"));
  CHECK(!contains_word("pytorch", "torch"));
  CHECK(contains_word("pytorch torch", "torch"));
}

TEST_CASE("distances for did-you-mean") {
  CHECK(edit_distance("select", "select") == 0);
  CHECK(edit_distance("slect", "select") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("TP1O1", "TP101") == 1);
}

TEST_CASE("split keeps empty parts, trim takes Python's white space") {
  CHECK(split("a,,b,", ',').size() == 4);
  CHECK(split("", ',').size() == 1);
  CHECK(trim(" \t\f a b \r\n") == "a b");
  CHECK(trim(" \n").empty());
}

}  // namespace
}  // namespace torchport::base
