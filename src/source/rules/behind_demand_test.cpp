#include "source/rules/behind_demand.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"
#include "source/rules/text_of_tests.h"

namespace torchport::rules {
namespace {

const std::string kDemandImports = "import sys\nimport torch\n\n";
const std::string kExitWithoutCuda = "    if not torch.cuda.is_available():\n        sys.exit(1)\n";

// The findings of TP101 in a text, with only what is safe of their fixes.
std::vector<Finding> calls_left(const std::string& text) {
  const edit::Settings settings;
  auto fixed = converge_python("a.py", text, {find_rule("TP101")}, settings, Applicability::kSafe);
  REQUIRE(fixed.has_value());
  return fixed->left.value_or(std::vector<Finding>{});
}

bool is_behind(const std::string& text, int line) {
  const auto left = calls_left(text);
  if (left.empty()) return false;  // a safe fix changed it
  return left.front().message.find(fmt::format("Line {} ends the program", line)) !=
         std::string::npos;
}

TEST_CASE("what follows a demand names it, and has no safe fix") {
  CHECK(is_behind(
      text_of({kDemandImports, "def main(x):\n", kExitWithoutCuda, "    return x.cuda()\n"}), 5));
  CHECK(is_behind(text_of({kDemandImports, "def main(x):\n", kExitWithoutCuda,
                           "    for y in x:\n        y.cuda()\n"}),
                  5));
  CHECK(!is_behind(text_of({kDemandImports, "def main(x):\n    y = x.cuda()\n", kExitWithoutCuda,
                            "    return y\n"}),
                   6));
}

TEST_CASE("functions that are called only behind a demand") {
  const std::string step = "def step(x):\n    return x.cuda()\n\n";
  const std::string main = text_of({"def main(x):\n", kExitWithoutCuda, "    step(x)\n"});
  CHECK(is_behind(text_of({kDemandImports, step, main}), 8));
  CHECK(is_behind(text_of({kDemandImports, step, main, "\n\nnet.step()\nrun(step=1)\n"}), 8));
  CHECK(!is_behind(text_of({kDemandImports, step, main, "\n\nstep(torch.ones(1))\n"}), 8));
  CHECK(!calls_left(text_of({kDemandImports, step, main, "\n\nstep(torch.ones(1))\n"})).empty());
  CHECK(!is_behind(text_of({kDemandImports, step, main, "\n\nrun(step)\n"}), 8));
  CHECK(!is_behind(text_of({kDemandImports, step, "def main(x):\n    step(x)\n", kExitWithoutCuda}),
                   9));
  const std::string inner = "def inner(x):\n    return x.cuda()\n\n";
  CHECK(is_behind(text_of({kDemandImports, inner, "def step(x):\n    return inner(x)\n\n", main}),
                  11));
}

TEST_CASE("a demand of the module comes before all its functions") {
  const std::string method = "class A:\n    def f(self, x):\n        return x.cuda()\n\n";
  CHECK(is_behind(text_of({kDemandImports, method, "assert torch.cuda.is_available()\n"}), 8));
  CHECK(!is_behind(text_of({kDemandImports, method, "def f():\n", kExitWithoutCuda}), 9));
}

TEST_CASE("a flag for which a method demands CUDA") {
  const std::string start =
      "class A:\n    def __init__(self):\n        if self.ddp:\n            self.start()\n\n";
  const std::string demand =
      "    def start(self):\n        if not torch.cuda.is_available():\n            raise "
      "RuntimeError\n\n";
  const std::string use = "    def wrap(self, x):\n        if self.ddp:\n            x.cuda()\n";
  CHECK(is_behind(text_of({kDemandImports, start, demand, use}), 10));
  CHECK(!is_behind(text_of({kDemandImports, "class A:\n", demand, use}), 6));
  CHECK(!is_behind(
      text_of({kDemandImports, start, demand,
               "    def wrap(self, x):\n        if self.other:\n            x.cuda()\n"}),
      10));
}

TEST_CASE("functions that call themselves and each other come to an end") {
  CHECK(!is_behind(text_of({kDemandImports,
                            "def f(x):\n    g(x)\n    return x.cuda()\n\ndef g(x):\n    f(x)\n"}),
                   1));
}

}  // namespace
}  // namespace torchport::rules
