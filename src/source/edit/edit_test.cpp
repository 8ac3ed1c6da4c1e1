#include "source/edit/edit.h"

#include <doctest/doctest.h>

#include "source/edit/apply.h"
#include "source/edit/imports.h"

namespace torchport::edit {
namespace {

Fix fix_of(std::vector<Edit> edits) {
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.edits = std::move(edits);
  return fix;
}

Applied apply_all(std::string_view text, const std::vector<Fix>& fixes) {
  std::vector<const Fix*> pointers;
  pointers.reserve(fixes.size());
  for (const Fix& fix : fixes) pointers.push_back(&fix);
  return apply_fixes(text, pointers);
}

TEST_CASE("edits replace, insert and delete") {
  CHECK(apply_edits("abcdef", {{{0, 1}, "X"}, {{2, 2}, "+"}, {{3, 5}, ""}}) == "Xb+cf");
  CHECK(apply_edits("", {{{0, 0}, "new"}}) == "new");
  CHECK(apply_edits("a", {}) == "a");
  CHECK(apply_edits("ab", {{{1, 1}, "1"}, {{1, 1}, "2"}}) == "a12b");
}

TEST_CASE("which edits stand in each other's way") {
  CHECK(overlap({{0, 3}, ""}, {{2, 4}, ""}));
  CHECK(overlap({{1, 2}, ""}, {{0, 9}, ""}));
  CHECK(overlap({{2, 2}, "a"}, {{2, 2}, "b"}));
  CHECK(overlap({{2, 4}, ""}, {{3, 3}, "x"}));
  CHECK(!overlap({{0, 2}, ""}, {{2, 4}, ""}));
  CHECK(!overlap({{2, 2}, "x"}, {{2, 4}, ""}));
  CHECK(!overlap({{4, 4}, "x"}, {{2, 4}, ""}));
}

TEST_CASE("insertions come before a replacement that starts there") {
  std::vector<Edit> edits{{{2, 4}, "B"}, {{0, 1}, "A"}, {{2, 2}, "+"}};
  sort_edits(edits);
  CHECK(apply_edits("abcdef", edits) == "Ab+Bef");
}

TEST_CASE("of fixes that overlap the first is applied, whole, and the others wait") {
  const auto applied = apply_all("abcdef", {fix_of({{{0, 2}, "X"}, {{4, 5}, "Y"}}),
                                            fix_of({{{1, 3}, "Z"}}), fix_of({{{3, 4}, "W"}})});
  CHECK(applied.text == "XcWYf");
  CHECK(applied.used == std::vector<std::size_t>{0, 2});
}

TEST_CASE("a fix is applied whole or not at all") {
  const auto applied =
      apply_all("abcdef", {fix_of({{{0, 1}, "X"}}), fix_of({{{0, 1}, "Y"}, {{5, 6}, "Z"}})});
  CHECK(applied.text == "Xbcdef");
  CHECK(applied.used == std::vector<std::size_t>{0});
}

TEST_CASE("a long edit is seen by one far inside of it") {
  std::vector<Fix> fixes{fix_of({{{0, 100}, "long"}})};
  for (std::uint32_t i = 10; i < 90; i += 10) fixes.push_back(fix_of({{{i, i + 1}, "x"}}));
  CHECK(apply_all(std::string(120, 'a'), fixes).used == std::vector<std::size_t>{0});
}

TEST_CASE("a fix without edits is never used") {
  CHECK(apply_all("abc", {fix_of({})}).used.empty());
}

TEST_CASE("an import of Python's own library goes among its like") {
  const auto with = [](const std::string& text) {
    const auto tree = syntax::Tree::parse(text);
    REQUIRE(tree.has_value());
    const auto line = standard_import(**tree, "import contextlib");
    if (!line) return std::string();
    std::string result = text;
    return result.insert(line->offset, line->text + "\n");
  };
  CHECK(with("import argparse\nimport time\n\nimport torch\n") ==
        "import argparse\nimport contextlib\nimport time\n\nimport torch\n");
  CHECK(with("'Text.'\nimport os\nimport torch\n") ==
        "'Text.'\nimport contextlib\nimport os\nimport torch\n");
  CHECK(with("from typing import Any\n\nimport torch\nfrom . import a\n") ==
        "import contextlib\nfrom typing import Any\n\nimport torch\nfrom . import a\n");
  CHECK(with("# License\n\nfrom __future__ import annotations\n\nimport torch\n") ==
        "# License\n\nfrom __future__ import annotations\n\nimport contextlib\n\nimport torch\n");
  CHECK(with("try:\n    import a\nexcept ImportError:\n    a = None\nimport torch\n") ==
        "try:\n    import a\nexcept ImportError:\n    a = None\nimport contextlib\n\n"
        "import torch\n");
  CHECK(with("x = 1\n").empty());
  CHECK(with("").empty());
  CHECK(with("import abc, ast\nimport torch; import os\n") ==
        "import contextlib\n\nimport abc, ast\nimport torch; import os\n");
}

}  // namespace
}  // namespace torchport::edit
