#include "source/server/documents.h"

#include <random>

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::changed_text;
using server::Documents;
using server::Encoding;
using server::Position;
using server::TextChange;

TextChange edit(Position start, Position end, std::string text) {
  return {std::pair{start, end}, std::move(text)};
}

std::string after(std::string text, const std::vector<TextChange>& changes) {
  return changed_text(std::move(text), changes, Encoding::kUtf16);
}

TEST_CASE("changes apply one after the other") {
  CHECK(after("ab\ncd\n", {edit({0, 1}, {1, 1}, "X")}) == "aXd\n");
  CHECK(after("ab\n", {edit({0, 2}, {0, 2}, "\nq"), edit({1, 1}, {1, 1}, "r")}) == "ab\nqr\n");
  CHECK(after("ab", {TextChange{std::nullopt, "new"}, edit({0, 0}, {0, 1}, "")}) == "ew");
  CHECK(after("", {edit({0, 0}, {0, 0}, "x")}) == "x");
}

TEST_CASE("characters of two UTF-16 units are changed as a whole") {
  CHECK(after("a😀b", {edit({0, 1}, {0, 3}, "")}) == "ab");
  CHECK(after("a😀b", {edit({0, 3}, {0, 3}, "é")}) == "a😀éb");
  // Half of a pair does not exist in UTF-8: the whole character stays.
  CHECK(after("a😀b", {edit({0, 1}, {0, 2}, "x")}) == "ax😀b");
}

TEST_CASE("lines end with CRLF, CR or LF, and a column after the end is the end of the line") {
  CHECK(after("a\r\nb\r\n", {edit({0, 9}, {1, 0}, "")}) == "ab\r\n");
  CHECK(after("a\rb\rc", {edit({2, 0}, {2, 1}, "C")}) == "a\rb\rC");
  CHECK(after("a\r\nb", {edit({0, 1}, {0, 1}, ";")}) == "a;\r\nb");
}

TEST_CASE("edits outside of the document are cut to it") {
  CHECK(after("ab", {edit({7, 7}, {9, 9}, "x")}) == "abx");
  CHECK(after("ab", {edit({0, 1}, {4000000000, 4000000000}, "")}) == "a");
  CHECK(after("ab\ncd", {edit({1, 1}, {0, 1}, "-")}) == "a-d");  // backwards
}

// The same edits on a text of UTF-16 units, which is what the protocol speaks of.
TEST_CASE("random edits do what they do to a text of UTF-16 units") {
  const std::vector<std::u16string> pieces{u"a", u"é", u"€", u"😀", u"\n", u"\r\n", u"bc", u""};
  const std::vector<std::string> same{"a", "é", "€", "😀", "\n", "\r\n", "bc", ""};
  std::mt19937 random(7);
  const auto any = [&](std::size_t below) { return random() % below; };
  for (int round = 0; round < 200; ++round) {
    std::u16string wide;
    std::string text;
    for (int step = 0; step < 30; ++step) {
      // Places between characters, as (line, unit) and as index.
      std::vector<std::pair<Position, std::size_t>> places;
      Position at;
      for (std::size_t i = 0; i <= wide.size(); ++i) {
        const bool inside =
            i > 0 && i < wide.size() &&
            ((wide[i] >= 0xDC00 && wide[i] < 0xE000) || (wide[i] == u'\n' && wide[i - 1] == u'\r'));
        if (!inside) places.emplace_back(at, i);
        if (i == wide.size()) break;
        const bool ends = wide[i] == u'\n' ||
                          (wide[i] == u'\r' && (i + 1 == wide.size() || wide[i + 1] != u'\n'));
        at = ends ? Position{at.line + 1, 0} : Position{at.line, at.character + 1};
      }
      auto a = places[any(places.size())];
      auto b = places[any(places.size())];
      if (b.second < a.second) std::swap(a, b);
      const std::size_t piece = any(pieces.size());
      // Edits that join or split a CRLF are left to the test above.
      const bool next_to_cr = (a.second > 0 && wide[a.second - 1] == u'\r') ||
                              (b.second < wide.size() && wide[b.second] == u'\n');
      if (next_to_cr && piece != 0) continue;
      wide.replace(a.second, b.second - a.second, pieces[piece]);
      text = after(std::move(text), {edit(a.first, b.first, same[piece])});
    }
    std::string expected;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const char16_t c = wide[i];
      if (c < 0x80)
        expected += static_cast<char>(c);
      else if (c == u'é')
        expected += "é";
      else if (c == u'€')
        expected += "€";
      else if (c == 0xD83D)
        expected += "😀";
    }
    REQUIRE(text == expected);
  }
}

TEST_CASE("a snapshot stays as it was when its document changes") {
  Documents documents;
  documents.open("file:///a.py", "python", 1, "x = 1\n");
  const auto before = documents.source_of("file:///a.py");
  REQUIRE(before);
  CHECK(documents.change("file:///a.py", 2, {TextChange{std::nullopt, "y\n"}}, Encoding::kUtf16));
  const auto now = documents.source_of("file:///a.py");
  CHECK(before->parts[0]->text == "x = 1\n");
  CHECK(now->parts[0]->text == "y\n");
  CHECK(now->parts[0]->version == 2);
  CHECK_FALSE(before->is_same(*now));
  documents.close("file:///a.py");
  CHECK_FALSE(documents.source_of("file:///a.py"));
  CHECK_FALSE(documents.change("file:///a.py", 3, {}, Encoding::kUtf16));
}

TEST_CASE("the cells of a notebook are one source, without those in other languages") {
  Documents documents;
  documents.open("cell:1", "python", 1, "a");
  documents.open("cell:2", "markdown", 1, "# text");
  documents.open("cell:3", "python", 1, "b");
  documents.set_notebook("file:///n.ipynb", {"cell:1", "cell:2", "cell:3", "cell:missing"});
  const auto source = documents.source_of("cell:3");
  REQUIRE(source);
  CHECK(source->uri == "file:///n.ipynb");
  REQUIRE(source->parts.size() == 2);
  CHECK(source->parts[1]->uri == "cell:3");
  CHECK(documents.all() == std::vector<std::string>{"file:///n.ipynb"});
  documents.set_notebook("file:///n.ipynb", {"cell:3"});
  CHECK(documents.source_of("file:///n.ipynb")->parts.size() == 1);
  documents.close_notebook("file:///n.ipynb");
  CHECK_FALSE(documents.source_of("cell:3"));
}

}  // namespace
}  // namespace torchport
