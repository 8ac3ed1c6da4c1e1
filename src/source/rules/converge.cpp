#include "source/rules/converge.h"

#include "source/edit/alignment.h"
#include "source/edit/apply.h"
#include "source/edit/long_lines.h"
#include "source/rules/unused.h"

namespace torchport::rules {

namespace {

constexpr int kMaxPasses = 10;

struct Wanted {
  std::vector<const Fix*> fixes;
  std::vector<std::string_view> codes;
};

Wanted wanted_fixes(const std::vector<Finding>& findings, Applicability tier) {
  Wanted wanted;
  for (const Finding& finding : findings) {
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

}  // namespace

base::Result<Converged> converge_python(std::string_view path, const std::string& source,
                                        const Selection& selection, const edit::Settings& settings,
                                        Applicability tier, Deadline* deadline,
                                        const flow::Summary* project) {
  Converged result;
  result.text = source;
  auto parsed = syntax::Tree::parse(source, parse_limits(path, deadline));
  if (!parsed) return tl::unexpected<base::Error>(parsed.error());
  if ((*parsed)->has_syntax_error()) return result;
  const auto original = *parsed;
  while (result.passes < kMaxPasses) {
    const SemanticModel model(*parsed);
    const edit::DeviceSource devices(model, settings);
    const PythonContext context{path, model, devices, settings, project};
    auto findings = examine_python(context, selection, deadline);
    if (deadline != nullptr && deadline->passed)
      return base::fail(base::ErrorCode::kBudget, "takes too long to fix, so it was not changed");
    const Wanted wanted = wanted_fixes(findings, tier);
    const edit::Applied applied = wanted.fixes.empty()
                                      ? edit::Applied{}
                                      : edit::apply_fixes(result.text, wanted.fixes, devices);
    if (applied.used.empty() || applied.text == result.text) {
      result.left = std::move(findings);
      break;
    }
    parsed = syntax::Tree::parse(applied.text, parse_limits(path, deadline));
    if (!parsed) return tl::unexpected<base::Error>(parsed.error());
    if ((*parsed)->has_syntax_error()) {
      Converged broken;
      broken.text = source;
      broken.reverted = true;
      broken.reverted_by = wanted.codes[applied.used.front()];
      return broken;
    }
    count(result, wanted, applied);
    result.gives_device |= applied.gives_device;
    result.text = applied.text;
    ++result.passes;
  }
  if (result.text != source) tidy(path, original, deadline, project, result);
  if (result.text != source) align_lines(path, *original, deadline, result);
  if (result.text != source) break_lines(path, source, settings, deadline, result);
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
