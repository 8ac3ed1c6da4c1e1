#include "source/rules/replaced.h"

#include <string>

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"
#include "source/rules/text_of_tests.h"

namespace torchport::rules {
namespace {

// The findings of TP101 that are left after safe fixes, and those fixes.
std::size_t found_of_replaced(const std::string& text) {
  const edit::Settings settings;
  const auto fixed =
      converge_python("a.py", text, {find_rule("TP101")}, settings, Applicability::kDisplay);
  REQUIRE(fixed.has_value());
  std::size_t count = fixed->left ? fixed->left->size() : 0;
  for (const auto& [code, times] : fixed->applied) count += static_cast<std::size_t>(times);
  return count;
}

const std::string kReplacedImport = "import torch\n\n";
const std::string kReplacedMove = "def move(x, i):\n    return x.cuda(i)\n\n";

TEST_CASE("what a later definition replaces is not reported") {
  CHECK(found_of_replaced(text_of({kReplacedImport, kReplacedMove})) == 1);
  CHECK(found_of_replaced(
            text_of({kReplacedImport, kReplacedMove, "def move(x):\n    return x\n"})) == 0);
  CHECK(found_of_replaced(text_of({kReplacedImport,
                                   "class A:\n    def f(self, x):\n        return x.cuda(1)\n\n"
                                   "    def f(self, x):\n        return x\n"})) == 0);
}

TEST_CASE("a definition that something names before it is replaced") {
  CHECK(found_of_replaced(text_of({kReplacedImport, kReplacedMove,
                                   "first = move\n\ndef move(x):\n    return x\n"})) == 1);
  CHECK(found_of_replaced(text_of({kReplacedImport, "@register\n", kReplacedMove,
                                   "@register\ndef move(x):\n    return x\n"})) == 1);
  CHECK(found_of_replaced(text_of({kReplacedImport,
                                   "if torch.x:\n    def f(x):\n        return x.cuda(1)\nelse:\n"
                                   "    def f(x):\n        return x\n"})) == 1);
}

}  // namespace
}  // namespace torchport::rules
