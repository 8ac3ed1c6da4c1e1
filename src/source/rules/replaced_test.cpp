#include "source/rules/replaced.h"

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

// The findings of TP101 that are left after safe fixes, and those fixes.
std::size_t found(const std::string& text) {
  const edit::Settings settings;
  const auto fixed =
      converge_python("a.py", text, {find_rule("TP101")}, settings, Applicability::kDisplay);
  REQUIRE(fixed.has_value());
  std::size_t count = fixed->left ? fixed->left->size() : 0;
  for (const auto& [code, times] : fixed->applied) count += static_cast<std::size_t>(times);
  return count;
}

const std::string kImport = "import torch\n\n";
const std::string kMove = "def move(x, i):\n    return x.cuda(i)\n\n";

TEST_CASE("what a later definition replaces is not reported") {
  CHECK(found(kImport + kMove) == 1);
  CHECK(found(kImport + kMove + "def move(x):\n    return x\n") == 0);
  CHECK(found(kImport + "class A:\n    def f(self, x):\n        return x.cuda(1)\n\n"
                        "    def f(self, x):\n        return x\n") == 0);
}

TEST_CASE("a definition that something names before it is replaced") {
  CHECK(found(kImport + kMove + "first = move\n\ndef move(x):\n    return x\n") == 1);
  CHECK(found(kImport + "@register\n" + kMove + "@register\ndef move(x):\n    return x\n") == 1);
  CHECK(found(kImport + "if torch.x:\n    def f(x):\n        return x.cuda(1)\nelse:\n"
                        "    def f(x):\n        return x\n") == 1);
}

}  // namespace
}  // namespace torchport::rules
