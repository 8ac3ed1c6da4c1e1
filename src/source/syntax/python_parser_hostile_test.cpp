// Texts that nobody writes: broken, deep and long ones. Whatever the quick parser takes has to have
// the tree that tree-sitter makes.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "source/syntax/parser_paths.h"

namespace torchport::syntax {
namespace {

using Outcome = ParserComparison::Outcome;

constexpr std::string_view kPrograms[] = {
    R"(import a.b as c, d
from .e import (f, g as h,)
class A(B, metaclass=C):  # 1
    """doc"""
    x: int = 3; y: list[str] | None = None
    # 2

    @property
    def f(self, a, /, b: int = 1, *c, d=2, **e) -> dict[str, int]:
        return {**a, 'b': c, "d": [e for f, g in h if i]}
  # 3
    async def g(self): await self.f(*a, k=lambda x, *y: x if y else -x ** 2)
)",
    R"(try:
    with open(a) as b, (c): d[1:2, ::3] += f(x for x in y)
except (E, F) as e:
    raise G(f"{e!r:>{w}} {{}} {a["b"]=}") from None
else:
    for (i, j), *k in l: continue
    else: break
finally:
    while not (a := b) or c not in d is not e < f:
        del a.b, c[0]; assert x, 'y' \
            "z"
)",
    R"(if a: pass
elif b:
    global c, d
    e = f, *g = h[i](j)(k).l = m, n
    # 1
else: # 2
    return (yield), await o, yield_
match p:
    case [1, *q] | {"r": s, **t}: u
    case V(w=-1, x=y.z) as a if b: c
    case _: print(d, *e, sep='') # 3
type X[T: int, *Ts] = a | b[c]
)",
    "x = (\n  a  # 1\n  .b(c)  # 2\n  [d]\n)\nif x:\n\ty\n\t# 3\n# 4\n",
    "r\"\\d\\\"\" rb'\\'' '''\n'''\r\n",
    "with (a as b, c): pass\nx = a + \\\n  b\nf(**a, *b)\nlambda: (yield)\n[*a.b]\n{*a, b}\n()\n",
};

constexpr std::string_view kTokens[] = {
    "(",     ")",      "[",      "]",     "{",     "}",     ",",       ":",       ";",
    ".",     "...",    "->",     ":=",    "=",     "+=",    "==",      "**",      "*",
    "-",     "|",      "@",      "~",     "not",   "in",    "is",      "and",     "if",
    "else",  "elif",   "for",    "def",   "a",     "print", "match",   "case",    "type",
    "_",     "async",  "await",  "yield", "from",  "as",    "with",    "try",     "except",
    "class", "lambda", "import", "0",     "1.5j",  "'s'",   "f'{",     "\"",      "'''",
    "\n",    "\n  ",   "\n\t",   "\\\n",  "# c\n", " ",     "\n# c",   "return ", "None",
    "!",     "%",      "exec",   "rb''",  "\\",    "\f",    "\xC3\xA9"};

std::vector<std::string> tokens_of(std::string_view text) {
  const auto is_word = [](char c) { return base::is_identifier_char(c); };
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() &&
           ((is_word(text[i]) && is_word(text[end])) || (text[i] == ' ' && text[end] == ' ')))
      ++end;
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

std::string mutated(std::string_view text, std::minstd_rand& random) {
  std::vector<std::string> tokens = tokens_of(text);
  for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
    const auto at = static_cast<std::ptrdiff_t>(random() % tokens.size());
    switch (random() % 4) {
      case 0:
        tokens[static_cast<std::size_t>(at)].clear();
        break;
      case 1:
        tokens.emplace(tokens.begin() + at, kTokens[random() % std::size(kTokens)]);
        break;
      case 2:
        tokens[static_cast<std::size_t>(at)] = kTokens[random() % std::size(kTokens)];
        break;
      default:
        std::swap(tokens[static_cast<std::size_t>(at)], tokens[random() % tokens.size()]);
    }
  }
  std::string result;
  for (const std::string& token : tokens) result += token;
  return result;
}

TEST_CASE("changed programs") {
  std::minstd_rand random(1);  // NOLINT(cert-msc51-cpp): the same texts in each run
  int taken = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string text = mutated(kPrograms[i % std::size(kPrograms)], random);
    CAPTURE(text);
    const auto found = compare_parsers(text);
    REQUIRE_MESSAGE(found.outcome != Outcome::kDiffers, found.difference);
    if (found.outcome == Outcome::kSame) ++taken;
  }
  CHECK(taken > 600);
}

TEST_CASE("every beginning of a program") {
  for (const std::string_view program : kPrograms) {
    for (std::size_t length = 0; length <= program.size(); ++length) {
      const std::string_view text = program.substr(0, length);
      CAPTURE(text);
      const auto found = compare_parsers(text);
      REQUIRE_MESSAGE(found.outcome != Outcome::kDiffers, found.difference);
    }
  }
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// The quick parser alone: how it ends, and that it ends soon and without a stack that overflows.
TEST_CASE("deep and long texts end") {
  struct Row {
    std::string_view before, opening, middle, closing, after;
  };
  const Row rows[] = {
      {"x = ", "(", "1", ")", "\n"},
      {"x = ", "(", "", "", ""},
      {"x = ", "[", "", "]", "\n"},
      {"x = ", "[*f(", "a", ")]", "\n"},
      {"x = ", "{1:", "1", "}", "\n"},
      {"x = ", "f(", "1", ")", "\n"},
      {"x = ", "a[", "1", "]", "\n"},
      {"x = ", "f'{", "1", "}'", "\n"},
      {"x = f'{a", ":{a", "", "}", "}'\n"},
      {"x = ", "-", "1", "", "\n"},
      {"x = ", "not ", "1", "", "\n"},
      {"x = ", "lambda: ", "1", "", "\n"},
      {"x = ", "lambda a=", "1", ": 1", "\n"},
      {"x = ", "1 if a else ", "1", "", "\n"},
      {"x = ", "a ** ", "1", "", "\n"},
      {"x = ", "a + ", "1", "", "\n"},
      {"x = ", "a < ", "1", "", "\n"},
      {"x = ", "a or ", "1", "", "\n"},
      {"x = a", "()", "", "", "\n"},
      {"x = a", ".a", "", "", "\n"},
      {"x = a", "[0]", "", "", "\n"},
      {"x = ", "'a' ", "", "", "\n"},
      {"", "x = ", "1", "", "\n"},
      {"x: ", "a[", "b", "]", "\n"},
      {"x: a[b]", " | a[b]", "", "", "\n"},
      {"x: a[b]", ".a", "", "", "\n"},
      {"if a: b\n", "elif a: b\n", "", "", ""},
      {"", "if a: ", "b", "", "\n"},
      {"for x in ", "(", "a", ")", ": pass\n"},
      {"for ", "(", "a", ",)", " in b: pass\n"},
      {"", "[", "a", "]", " = b\n"},
      {"[a", " for a in b", "", "]", "\n"},
      {"[a", " for a in (b", "", ")", "]\n"},
      {"match a:\n case ", "[", "b", "]", ": pass\n"},
      {"match a:\n case ", "A(", "b", ")", ": pass\n"},
      {"match a:\n case b", " | b", "", "", ": pass\n"},
      {"", "match a:\n case b: pass\n", "", "", ""},
      {"", "@a\n", "def f(): pass", "", "\n"},
      {"", "with a: pass\n", "", "", ""},
      {"with ", "(", "a", ")", ": pass\n"},
      {"", "type(", "a", ")", "\n"},
      {"", "print(a, *b(", "a", "))", "\n"},
      {"", "\\\n", "a", "", "\n"},
      {"(", "# c\n", "a", "", ")\n"},
      {"", "# c\n", "a", "", "\n"},
      {"", "a;", "", "", "\n"},
  };
  ParseLimits quick;
  quick.paths = ParseLimits::Paths::kQuick;
  for (const Row& row : rows) {
    CAPTURE(row.before);
    CAPTURE(row.opening);
    for (const int times : {100, 1000}) {
      const std::string text = std::string(row.before) + repeated(row.opening, times) +
                               std::string(row.middle) + repeated(row.closing, times) +
                               std::string(row.after);
      CHECK(compare_parsers(text).outcome != Outcome::kDiffers);
    }
    const std::string text = std::string(row.before) + repeated(row.opening, 100'000) +
                             std::string(row.middle) + repeated(row.closing, 100'000) +
                             std::string(row.after);
    static_cast<void>(Tree::parse(text, quick));
  }
}

TEST_CASE("nested blocks") {
  for (const int levels : {50, 99, 150, 250, 1000}) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += repeated(" ", i) + "if x:\n";
    text += repeated(" ", levels) + "pass\n";
    CHECK(compare_parsers(text).outcome != Outcome::kDiffers);
  }
}

TEST_CASE("limits hold for both parsers") {
  ParseLimits shallow;
  shallow.max_depth = 12;
  CHECK(!Tree::parse("x = [[[[[[[[[[[[1]]]]]]]]]]]]\n", shallow).has_value());
  CHECK(Tree::parse("x = [1]\n", shallow).has_value());
  ParseLimits short_sum;
  short_sum.max_total_depth = 100;
  CHECK(!Tree::parse(repeated("x = [1]\n", 100), short_sum).has_value());
  ParseLimits few;
  few.max_nodes = 50;
  for (const auto paths : {ParseLimits::Paths::kBoth, ParseLimits::Paths::kGrammar}) {
    few.paths = paths;
    CHECK(Tree::parse(repeated("x = 1\n", 10), few).has_value());
    const auto many = Tree::parse(repeated("x = 1\n", 100), few);
    REQUIRE(!many.has_value());
    CHECK(many.error().code == base::ErrorCode::kBudget);
    CHECK(!Tree::parse("x = [" + repeated("1,", 100) + "]\n", few).has_value());
  }
  ParseLimits cells;
  cells.indented_cells = true;
  CHECK(!(*Tree::parse("  x\ny\n", cells))->has_syntax_error());
}

}  // namespace
}  // namespace torchport::syntax
