#include "source/edit/alignment.h"

#include <doctest/doctest.h>

namespace torchport::edit {
namespace {

std::string aligned(const std::string& before, const std::string& after) {
  const auto old = syntax::Tree::parse(before);
  const auto fresh = syntax::Tree::parse(after);
  REQUIRE(old.has_value());
  REQUIRE(fresh.has_value());
  std::string result = aligned_lines(**old, **fresh);
  const auto again = syntax::Tree::parse(result);
  REQUIRE(again.has_value());
  CHECK(!(*again)->has_syntax_error());
  CHECK(aligned_lines(**old, **again) == result);
  return result;
}

TEST_CASE("lines move with the bracket that they are aligned with") {
  CHECK(aligned("with torch.cuda.amp.autocast(enabled=True,\n"
                "                             dtype=half):\n"
                "    pass\n",
                "with torch.amp.autocast(kind, enabled=True,\n"
                "                             dtype=half):\n"
                "    pass\n") ==
        "with torch.amp.autocast(kind, enabled=True,\n"
        "                        dtype=half):\n"
        "    pass\n");
}

TEST_CASE("lines move with the lines that move") {
  CHECK(aligned("x = torch.cuda.make(a,\n"
                "                    inner(b,\n"
                "                          'c'),  # last\n"
                "                    d\n"
                "                   )\n",
                "x = torch.make(a,\n"
                "                    inner(b,\n"
                "                          'c'),  # last\n"
                "                    d\n"
                "                   )\n") ==
        "x = torch.make(a,\n"
        "               inner(b,\n"
        "                     'c'),  # last\n"
        "               d\n"
        "              )\n");
}

TEST_CASE("lines that are changed themselves move as well") {
  CHECK(aligned("y = cat([a.cuda(),\n"
                "         b.cuda()])\n",
                "yy = cat([a.to(d),\n"
                "         b.to(d)])\n") == "yy = cat([a.to(d),\n          b.to(d)])\n");
}

TEST_CASE("columns are characters") {
  CHECK(aligned("f(\"\u00e4\u00e4\", g(a,\n"
                "          b))\n",
                "ff(\"\u00e4\u00e4\", g(a,\n"
                "          b))\n") == "ff(\"\u00e4\u00e4\", g(a,\n           b))\n");
}

TEST_CASE("other lines stay") {
  for (const char* const text : {
           "x = torch.cuda.make(\n    a,\n    b)\n",                 // a hanging indent
           "x = torch.cuda.make(  # why\n    a)\n",                  // nothing behind the bracket
           "x = torch.cuda.make(a,\n  b)\n",                         // another indent
           "x = torch.cuda.make(a,\n\t\t\tb)\n",                     // tabs
           "x = torch.cuda.make('''a\n                    b''')\n",  // a line of a string
           "x = torch.cuda.make(a)\ny = [b,\n     c]\n",             // another bracket
           "x = torch.cuda.make(a,\n\n                     # b\n  b)\n",
       }) {
    const std::string before = text;
    std::string after = before;
    after.replace(after.find("torch.cuda"), 10, "torch");
    CHECK(aligned(before, after) == after);
  }
}

TEST_CASE("line ends stay, and a text without changes") {
  CHECK(aligned("x = torch.cuda.make(a,\r\n                    b)\r\n",
                "x = torch.make(a,\r\n                    b)\r\n") ==
        "x = torch.make(a,\r\n               b)\r\n");
  CHECK(aligned("x = f(a,\n      b)\n", "x = f(a,\n      b)\n") == "x = f(a,\n      b)\n");
  CHECK(aligned("", "x = 1\n") == "x = 1\n");
  CHECK(aligned("x = f(a,\r      b)\r", "xx = f(a,\r      b)\r") == "xx = f(a,\r      b)\r");
}

}  // namespace
}  // namespace torchport::edit
