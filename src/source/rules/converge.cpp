#include "source/rules/converge.h"

#include <algorithm>

#include "source/edit/alignment.h"
#include "source/edit/apply.h"
#include "source/edit/long_lines.h"
#include "source/rules/harm.h"
#include "source/rules/unused.h"

namespace torchport::rules {

namespace {

constexpr int kMaxPasses = 10;

struct Wanted {
  std::vector<const Fix*> fixes;
  std::vector<std::string_view> codes;
};

using Codes = std::vector<std::string_view>;

Wanted wanted_fixes(const std::vector<Finding>& findings, Applicability tier,
                    const Codes& withheld = {}) {
  Wanted wanted;
  for (const Finding& finding : findings) {
    if (std::find(withheld.begin(), withheld.end(), finding.rule->code) != withheld.end()) continue;
    for (const Fix& fix : finding.fix) {
      if (fix.applicability > tier || fix.applicability == Applicability::kDisplay ||
          fix.edits.empty())
        continue;
      wanted.fixes.push_back(&fix);
      wanted.codes.push_back(finding.rule->code);
    }
  }
  return wanted;
}

void count(Converged& result, const Wanted& wanted, const edit::Applied& applied) {
  for (const std::size_t i : applied.used) ++result.applied[wanted.codes[i]];
}

// Takes a new text if it parses.
bool take(std::string_view path, std::string text, Deadline* deadline, Converged& result) {
  if (text == result.text) return false;
  const auto parsed = syntax::Tree::parse(text, parse_limits(path, deadline));
  if (!parsed || (*parsed)->has_syntax_error()) return false;
  result.text = std::move(text);
  result.left.reset();
  return true;
}

using TreePtr = std::shared_ptr<const syntax::Tree>;

// Removes what the fixes left behind, as long as the text parses.
void tidy(std::string_view path, const TreePtr& original, Deadline* deadline,
          const flow::Summary* project, Converged& result) {
  const SemanticModel old(original);
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const auto after = syntax::Tree::parse(result.text, parse_limits(path, deadline));
    if (!after || (*after)->has_syntax_error()) return;
    std::string text = without_unused(path, old, SemanticModel(*after), project);
    if (!take(path, std::move(text), deadline, result)) return;
  }
}

// Moves the lines that were aligned with a bracket that has moved.
void align_lines(std::string_view path, const syntax::Tree& original, Deadline* deadline,
                 Converged& result) {
  const auto after = syntax::Tree::parse(result.text, parse_limits(path, deadline));
  if (after) take(path, edit::aligned_lines(original, **after), deadline, result);
}

// Breaks the lines that became too long.
void break_lines(std::string_view path, const std::string& source, const edit::Settings& settings,
                 Deadline* deadline, Converged& result) {
  const std::size_t limit =
      settings.line_length != 0 ? settings.line_length : edit::own_line_length(source);
  const auto after = syntax::Tree::parse(result.text, parse_limits(path, deadline));
  if (after) take(path, edit::broken_lines(source, **after, limit), deadline, result);
}

// How a file is fixed.
struct Task {
  std::string_view path;
  const std::string& source;
  const Selection& selection;
  const edit::Settings& settings;
  Applicability tier;
  Deadline* deadline;
  const flow::Summary* project;
};

// The rule whose fix breaks the syntax by itself; the first one if none does.
std::string_view breaker(const Task& task, const std::string& text, const Wanted& wanted,
                         const edit::Applied& applied, const edit::DeviceSource& devices) {
  for (const std::size_t used : applied.used) {
    const std::string alone = edit::apply_fixes(text, {wanted.fixes[used]}, devices).text;
    const auto parsed = syntax::Tree::parse(alone, parse_limits(task.path, task.deadline));
    if (!parsed || (*parsed)->has_syntax_error()) return wanted.codes[used];
  }
  return wanted.codes[applied.used.front()];
}

// The old text: a fix broke the syntax.
Converged broken_by(const std::string& source, std::string_view code) {
  Converged broken;
  broken.text = source;
  broken.reverted = true;
  broken.reverted_by = code;
  return broken;
}

// Fixes a text until nothing is left to fix, except by the rules of `withheld`.
base::Result<Converged> converge(const Task& task, const TreePtr& original, const Codes& withheld) {
  Converged result;
  result.text = task.source;
  TreePtr tree = original;
  while (result.passes < kMaxPasses) {
    const SemanticModel model(tree);
    const edit::DeviceSource devices(model, task.settings);
    auto findings = examine_python({task.path, model, devices, task.settings, task.project},
                                   task.selection, task.deadline);
    if (task.deadline != nullptr && task.deadline->passed)
      return base::fail(base::ErrorCode::kBudget, "takes too long to fix, so it was not changed");
    const Wanted wanted = wanted_fixes(findings, task.tier, withheld);
    const edit::Applied applied = wanted.fixes.empty()
                                      ? edit::Applied{}
                                      : edit::apply_fixes(result.text, wanted.fixes, devices);
    if (applied.used.empty() || applied.text == result.text) {
      result.left = std::move(findings);
      break;
    }
    auto parsed = syntax::Tree::parse(applied.text, parse_limits(task.path, task.deadline));
    if (!parsed) return tl::unexpected<base::Error>(parsed.error());
    if ((*parsed)->has_syntax_error())
      return broken_by(task.source, breaker(task, result.text, wanted, applied, devices));
    tree = std::move(*parsed);
    count(result, wanted, applied);
    result.gives_device |= applied.gives_device;
    result.text = applied.text;
    ++result.passes;
  }
  return result;
}

// Fixes a text without the rules whose fixes break its syntax, and those of `withheld`.
base::Result<Converged> converge_whole(const Task& task, const TreePtr& original, Codes withheld) {
  std::string_view breaks;
  for (int times = 0;; ++times) {
    auto result = converge(task, original, withheld);
    if (!result) return result;
    if (!result->reverted || times == kMaxPasses) {
      if (!breaks.empty()) result->reverted_by = breaks;
      result->reverted = !breaks.empty();
      return result;
    }
    if (breaks.empty()) breaks = result->reverted_by;
    withheld.push_back(result->reverted_by);
  }
}

std::optional<std::string> harm_in(const Task& task, const TreePtr& original,
                                   const std::string& text) {
  if (text == task.source) return std::nullopt;
  const auto parsed = syntax::Tree::parse(text, parse_limits(task.path, task.deadline));
  if (!parsed) return std::nullopt;
  const SemanticModel before(original);
  const SemanticModel after(*parsed);
  const edit::DeviceSource devices_before(before, task.settings);
  const edit::DeviceSource devices_after(after, task.settings);
  return harm_of({task.path, before, devices_before, task.settings, task.project},
                 {task.path, after, devices_after, task.settings, task.project}, task.tier,
                 task.deadline);
}

// Fixes a text without the rule that does harm, or without any if no single one does it.
base::Result<Converged> converge_without_harm(const Task& task, const TreePtr& original) {
  auto all = converge_whole(task, original, {});
  if (!all) return all;
  const auto harm = harm_in(task, original, all->text);
  if (!harm) return all;
  Converged none;
  none.text = task.source;
  none.harm = *harm;
  for (const auto& [code, times] : all->applied) {
    auto others = converge_whole(task, original, {code});
    if (!others) return others;
    none.withheld.push_back(code);
    if (harm_in(task, original, others->text)) continue;
    others->withheld = {code};
    others->harm = *harm;
    return others;
  }
  return none;
}

}  // namespace

base::Result<Converged> converge_python(std::string_view path, const std::string& source,
                                        const Selection& selection, const edit::Settings& settings,
                                        Applicability tier, Deadline* deadline,
                                        const flow::Summary* project) {
  const auto parsed = syntax::Tree::parse(source, parse_limits(path, deadline));
  if (!parsed) return tl::unexpected<base::Error>(parsed.error());
  if ((*parsed)->has_syntax_error()) {
    Converged same;
    same.text = source;
    return same;
  }
  auto result =
      converge_without_harm({path, source, selection, settings, tier, deadline, project}, *parsed);
  if (!result || result->text == source) return result;
  tidy(path, *parsed, deadline, project, *result);
  if (result->text != source) align_lines(path, **parsed, deadline, *result);
  if (result->text != source) break_lines(path, source, settings, deadline, *result);
  return result;
}

Converged converge_text(std::string_view path, FileKind kind, const std::string& source,
                        const Selection& selection, const edit::Settings& settings,
                        Applicability tier) {
  Converged result;
  result.text = source;
  while (result.passes < kMaxPasses) {
    const base::LineIndex lines(result.text);
    const auto findings = examine_text({path, kind, result.text, lines, settings}, selection);
    const Wanted wanted = wanted_fixes(findings, tier);
    if (wanted.fixes.empty()) break;
    const edit::Applied applied = edit::apply_fixes(result.text, wanted.fixes);
    if (applied.used.empty() || applied.text == result.text) break;
    count(result, wanted, applied);
    result.text = applied.text;
    ++result.passes;
  }
  return result;
}

}  // namespace torchport::rules
