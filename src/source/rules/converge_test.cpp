#include "source/rules/converge.h"

#include <doctest/doctest.h>

#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

const std::string kTie = "import torch\n\nx = torch.ones(1).cuda()\n";

TEST_CASE("what takes too long is left alone and says so") {
  const edit::Settings settings;
  Deadline past{std::chrono::steady_clock::now() - std::chrono::seconds(1)};
  const auto fixed =
      converge_python("a.py", kTie, {find_rule("TP101")}, settings, Applicability::kSafe, &past);
  REQUIRE(!fixed.has_value());
  CHECK(fixed.error().code == base::ErrorCode::kBudget);
}

TEST_CASE("what is left is known of the text as it will be") {
  const edit::Settings settings;
  const std::string text = kTie + "y = x.cuda(1)\n";
  const auto fixed =
      converge_python("a.py", text, {find_rule("TP101")}, settings, Applicability::kSafe);
  REQUIRE(fixed.has_value());
  REQUIRE(fixed->left.has_value());
  const auto left = fixed->left.value_or(std::vector<Finding>{});
  REQUIRE(left.size() == 1);
  const base::Span span = left.front().span;
  CHECK(fixed->text.substr(span.start, span.size()).starts_with("cuda(1"));
}

TEST_CASE("a text that does not parse comes back as it was") {
  const edit::Settings settings;
  const std::string broken = kTie + "def f(:\n";
  const auto fixed =
      converge_python("a.py", broken, {find_rule("TP101")}, settings, Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  CHECK(fixed->text == broken);
  CHECK(fixed->applied.empty());
  CHECK(!fixed->reverted);
}

TEST_CASE("tiers: an unsafe fix waits to be asked for") {
  const edit::Settings settings;
  const std::string text = "import torch\nx = torch.ones(1).cuda(1)\n";
  const auto fix = [&](Applicability tier) {
    return converge_python("a.py", text, {find_rule("TP101")}, settings, tier)->text;
  };
  CHECK(fix(Applicability::kSafe) == text);
  CHECK(fix(Applicability::kUnsafe).find(".cuda(1)") == std::string::npos);
}

}  // namespace
}  // namespace torchport::rules
