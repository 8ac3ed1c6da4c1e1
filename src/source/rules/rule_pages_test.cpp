// The pages of the rules are their tests: page_cases.h says how. Every rule has at least three hits
// and three misses, and a rule that fixes shows at least one fixed text.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/examine.h"
#include "source/rules/page_cases.h"
#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

std::vector<Finding> examine(const Block& block, const Rule& rule) {
  const edit::Settings settings = settings_of(block);
  const std::string path = block.path();
  const FileKind kind = kind_of_path(path);
  if (kind != FileKind::kPython) {
    const base::LineIndex lines(block.code);
    return examine_text({path, kind, block.code, lines, settings}, {&rule});
  }
  auto tree = syntax::Tree::parse(block.code);
  REQUIRE_MESSAGE(tree.has_value(), block.code);
  REQUIRE_MESSAGE(!(*tree)->has_syntax_error(), block.code);
  const SemanticModel model(*tree);
  const edit::DeviceSource devices(model, settings);
  auto findings = examine_python({path, model, devices, settings}, {&rule});
  for (const Finding& finding : findings) CHECK(finding.span.end <= block.code.size());
  return findings;
}

std::string fix(const Block& block, const Rule& rule) {
  const edit::Settings settings = settings_of(block);
  const FileKind kind = kind_of_path(block.path());
  if (kind != FileKind::kPython)
    return converge_text(block.path(), kind, block.code, {&rule}, settings, Applicability::kUnsafe)
        .text;
  const auto result =
      converge_python(block.path(), block.code, {&rule}, settings, Applicability::kUnsafe);
  REQUIRE(result.has_value());
  CHECK_MESSAGE(!result->reverted, block.code);
  return result->text;
}

// Returns whether a finding comes with a fix that changes the file.
bool check_hit(const Block& block, const Rule& rule) {
  const auto findings = examine(block, rule);
  if (block.has("count"))
    CHECK(findings.size() == number_at(block.options.at("count")));
  else
    CHECK(!findings.empty());
  bool can_fix = false;
  for (const Finding& finding : findings) {
    CHECK(!finding.message.empty());
    for (const Fix& f : finding.fix) {
      CHECK(!f.title.empty());
      can_fix |= f.applicability != Applicability::kDisplay;
    }
  }
  return can_fix;
}

void check_miss(const Block& block, const Rule& rule) {
  for (const Finding& finding : examine(block, rule)) {
    const std::string at = block.code.substr(finding.span.start, finding.span.size());
    FAIL_CHECK("reported ", at, ": ", finding.message);
  }
}

void check_fixed(const Block& hit, const Block& block, const Rule& rule) {
  const std::string result = fix(hit, rule);
  CHECK_MESSAGE(result == block.code, "got:\n", result);
  Block again = hit;
  again.code = result;
  CHECK_MESSAGE(fix(again, rule) == result, "a second run changes the file");
}

void check_rule(const Rule& rule) {
  INFO("rule ", std::string(rule.info.code), " ", std::string(rule.info.name));
  const std::string_view page = page_of(rule.info);
  REQUIRE_MESSAGE(!page.empty(), "no page.md");
  for (const std::string_view heading : {"## What it does", "## Why is this bad?", "## Cases"}) {
    CHECK_MESSAGE(page.find(heading) != std::string_view::npos, "page lacks ",
                  std::string(heading));
  }
  int hits = 0;
  int misses = 0;
  int fixed = 0;
  bool can_fix = false;
  const Block* hit = nullptr;
  const std::vector<Block> blocks = cases_of(page);
  for (const Block& block : blocks) {
    INFO("case:\n", block.code);
    if (block.has("hit")) {
      ++hits;
      hit = &block;
      can_fix |= check_hit(block, rule);
    } else if (block.has("miss")) {
      ++misses;
      check_miss(block, rule);
    } else if (block.has("fixed")) {
      ++fixed;
      REQUIRE_MESSAGE(hit != nullptr, "a fixed block needs a hit before it");
      check_fixed(*hit, block, rule);
    } else {
      FAIL_CHECK("a case is hit, miss or fixed");
    }
  }
  // What no matcher reports, a test of several files shows.
  if (rule.python == nullptr && rule.text == nullptr) return;
  CHECK_MESSAGE(hits >= 3, "fewer than three hits");
  CHECK_MESSAGE(misses >= 3, "fewer than three misses");
  if (can_fix) CHECK_MESSAGE(fixed >= 1, "the rule fixes, but no fixed text shows how");
}

TEST_CASE("every rule keeps the promises of its page") {
  const char* only = std::getenv("TORCHPORT_RULE");  // runs only one rule: TORCHPORT_RULE=TP101
  for (const Rule& rule : all_rules()) {
    if (only != nullptr && rule.info.code != only) continue;
    check_rule(rule);
  }
}

TEST_CASE("codes and names are unique, pages belong to rules") {
  std::map<std::string_view, int> seen;
  for (const Rule& rule : all_rules()) {
    CHECK(++seen[rule.info.code] == 1);
    CHECK(++seen[rule.info.name] == 1);
  }
  for (const EmbeddedPage& page : embedded_pages()) {
    bool owned = false;
    for (const Rule& rule : all_rules()) owned |= page_of(rule.info) == page.text;
    CHECK_MESSAGE(owned, "no rule for ", std::string(page.folder));
  }
}

}  // namespace
}  // namespace torchport::rules
