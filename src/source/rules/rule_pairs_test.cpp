// Every two rules that fix Python, applied together to a file that has a hit of each. The pages'
// own hits are taken, one after the other and the other way round. What the fixed texts do when
// they run is tested by tests/fixes.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/page_cases.h"
#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

struct Example {
  const Rule* rule = nullptr;
  Block block;
};

std::string fix_with(const Selection& selection, const Block& like, const std::string& text) {
  const auto result =
      converge_python(like.path(), text, selection, settings_of(like), Applicability::kUnsafe);
  REQUIRE(result.has_value());
  CHECK_MESSAGE(!result->reverted, "reverted because of ", std::string(result->reverted_by));
  return result->text;
}

// One hit of each rule that its own fixes change.
std::vector<Example> fixed_examples() {
  std::vector<Example> examples;
  for (const Rule& rule : all_rules()) {
    for (const Block& block : cases_of(page_of(rule.info))) {
      if (!block.has("hit") || kind_of_path(block.path()) != FileKind::kPython) continue;
      if (fix_with({&rule}, block, block.code) == block.code) continue;
      examples.push_back({&rule, block});
      break;
    }
  }
  return examples;
}

bool imports_future(const std::string& text) {
  return text.find("from __future__") != std::string::npos;
}

// Both rules together settle, leave nothing that one of them would still fix, and change no less
// than each does alone.
void check_pair(const Example& first, const Example& second) {
  INFO("rules ", std::string(first.rule->info.code), " and ", std::string(second.rule->info.code));
  const std::string text = first.block.code + "\n\n" + second.block.code;
  INFO("before:\n", text);
  const std::string both = fix_with({first.rule, second.rule}, first.block, text);
  INFO("after:\n", both);
  CHECK(both != text);
  CHECK_MESSAGE(fix_with({first.rule, second.rule}, first.block, both) == both,
                "a second run changes the file");
  for (const Rule* rule : {first.rule, second.rule}) {
    const std::string again = fix_with({rule}, first.block, both);
    CHECK_MESSAGE(again == both, "one rule alone would change it further:\n", again);
  }
}

TEST_CASE("every two rules with fixes go together") {
  const std::vector<Example> examples = fixed_examples();
  CHECK(examples.size() >= 30);
  for (const Example& first : examples) {
    for (const Example& second : examples) {
      if (first.rule == second.rule || imports_future(second.block.code)) continue;
      if (first.block.path() != second.block.path()) continue;
      check_pair(first, second);
    }
  }
}

}  // namespace
}  // namespace torchport::rules
