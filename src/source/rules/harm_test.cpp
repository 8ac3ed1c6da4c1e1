#include "source/rules/harm.h"

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/edits.h"

namespace torchport::rules {
namespace {

// A rule that replaces the integer 1 by a name that nothing defines.
void write_unknown_name(const PythonContext& /*context*/, Node number, Reporter& reporter) {
  if (number.text() != "1") return;
  Fix fix{Applicability::kSafe, "", {}, {}};
  fix.edits = {replace(number, "NOWHERE")};
  reporter.report(number, "one").fix.push_back(std::move(fix));
}

// A rule that is right: 2 becomes 3.
void write_three(const PythonContext& /*context*/, Node number, Reporter& reporter) {
  if (number.text() != "2") return;
  Fix fix{Applicability::kSafe, "", {}, {}};
  fix.edits = {replace(number, "3")};
  reporter.report(number, "two").fix.push_back(std::move(fix));
}

// A rule that takes a move away.
void forget_move(const PythonContext& /*context*/, Node call, Reporter& reporter) {
  if (call.text() != "x.cuda()") return;
  Fix fix{Applicability::kSafe, "", {}, {}};
  fix.edits = {replace(call, "x")};
  reporter.report(call, "moved").fix.push_back(std::move(fix));
}

Rule rule(std::string_view code, Kind kind, PythonMatcher matcher) {
  return {{.code = code, .name = "of-a-test", .family = "placement", .summary = ""},
          {kind},
          matcher,
          {},
          nullptr};
}

const Rule kUnknownName = rule("TP901", Kind::kInteger, &write_unknown_name);
const Rule kThree = rule("TP902", Kind::kInteger, &write_three);
const Rule kForgets = rule("TP903", Kind::kCall, &forget_move);

Converged fixed(const std::string& text, const Selection& selection,
                Applicability tier = Applicability::kSafe) {
  const edit::Settings settings;
  auto result = converge_python("a.py", text, selection, settings, tier);
  REQUIRE(result.has_value());
  return *result;
}

TEST_CASE("a fix that writes a name without a value is left out, and the others stay") {
  for (const Applicability tier : {Applicability::kSafe, Applicability::kUnsafe}) {
    const Converged result = fixed("x = 1\ny = 2\n", {&kUnknownName, &kThree}, tier);
    CHECK(result.text == "x = 1\ny = 3\n");
    CHECK(result.withheld == std::vector<std::string_view>{"TP901"});
    CHECK(result.harm == "`NOWHERE` would have no value");
    CHECK(!result.applied.contains("TP901"));
  }
}

TEST_CASE("a name that had no value before, or one that a wildcard may bring, is no harm") {
  for (const std::string head : {"print(NOWHERE)\n", "from settings import *\n", "NOWHERE = 0\n"}) {
    const Converged result = fixed(head + "x = 1\n", {&kUnknownName});
    CHECK_MESSAGE(result.text == head + "x = NOWHERE\n", head);
    CHECK(result.withheld.empty());
  }
}

const std::string kMoved =
    "import torch\n\n"
    "net = torch.nn.Linear(2, 2).cuda()\n"
    "x = torch.ones(2)\n"
    "x = x.cuda()\n"
    "print(net(x))\n";

TEST_CASE("a safe fix that leaves an input behind is left out") {
  const Converged result = fixed(kMoved, {&kForgets});
  CHECK(result.text == kMoved);
  CHECK(result.withheld == std::vector<std::string_view>{"TP903"});
  CHECK(result.harm.find("TP207") == 0);
  CHECK(fixed(kMoved, {&kForgets}, Applicability::kUnsafe).text != kMoved);
}

TEST_CASE("where no single rule does it, nothing is fixed") {
  const Converged result = fixed(kMoved + "y = 1\n", {&kForgets, &kUnknownName});
  CHECK(result.text == kMoved + "y = 1\n");
  CHECK(result.withheld == std::vector<std::string_view>{"TP901", "TP903"});
  CHECK(result.applied.empty());
}

}  // namespace
}  // namespace torchport::rules
