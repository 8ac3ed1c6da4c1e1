#include "source/rules/examine.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/file_system.h"
#include "source/flow/flags.h"
#include "source/rules/behind_demand.h"
#include "source/rules/bindable.h"
#include "source/rules/collectives.h"
#include "source/rules/device_words.h"
#include "source/rules/fakes.h"
#include "source/rules/kept_comments.h"
#include "source/rules/last_fixes.h"
#include "source/rules/registry.h"
#include "source/rules/replaced.h"
#include "source/rules/strict.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

// The codes that a comment silences: empty for any other comment, "*" for all codes.
std::vector<std::string_view> silenced_codes(std::string_view comment) {
  auto at = comment.find("torchport:");
  if (at == std::string_view::npos) return {};
  std::string_view rest = base::trim(comment.substr(at + 10));
  if (!rest.starts_with("ignore")) return {};
  rest = base::trim(rest.substr(6));
  if (!rest.starts_with('[')) return {"*"};
  std::vector<std::string_view> codes;
  for (const std::string_view code : base::split(rest.substr(1, rest.find(']') - 1), ','))
    codes.push_back(base::trim(code));
  return codes;
}

using Silence = std::map<std::uint32_t, std::vector<std::string_view>>;  // line -> codes

bool is_silenced(const Silence& silence, std::uint32_t line, const RuleInfo& rule) {
  const auto found = silence.find(line);
  if (found == silence.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](std::string_view code) {
    return code == "*" || code == rule.code || code == rule.name || code == rule.family;
  });
}

// The innermost function that has a place in its body.
Node function_with(Node place) {
  for (Node up = place; up; up = up.parent())
    if (up.field() == Field::kBody && up.parent().is(Kind::kFunction)) return up.parent();
  return {};
}

// Adds that a finding is void if its function is only called with CUDA, or if another file's flag
// around it says so. Drops findings that the project makes void.
void ask_callers(const PythonContext& context, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    if (!finding.rule->void_with_cuda) continue;
    const Node place = syntax::node_at(context.model.tree(), finding.span.start);
    if (const Node innermost = function_with(place))
      finding.unless.push_back(
          {flow::Condition::Kind::kCalledWithCuda, flow::name_of(innermost), {}});
    for (flow::Condition& condition : flow::conditions_at(context.model, place))
      finding.unless.push_back(std::move(condition));
  }
  if (context.project == nullptr) return;
  std::erase_if(findings, [&](const Finding& finding) {
    return std::any_of(finding.unless.begin(), finding.unless.end(), [&](const auto& condition) {
      return context.project->holds(context.path, condition);
    });
  });
}

// Lowers fixes by what the project says, if it is known.
void ask_about_fixes(const PythonContext& context, std::vector<Finding>& findings) {
  if (context.project == nullptr) return;
  for (Finding& finding : findings) {
    for (const Lowering& lowering : finding.lowered) {
      if (!context.project->holds(context.path, lowering.when)) continue;
      for (Fix& fix : finding.fix) {
        if (lowering.to <= fix.applicability) continue;
        fix.applicability = lowering.to;
        if (!lowering.title.empty()) fix.title = lowering.title;
      }
    }
    finding.lowered.clear();
  }
}

void finish(std::vector<Finding>& findings, const Silence& silence, const base::LineIndex& lines) {
  std::erase_if(findings, [&](const Finding& finding) {
    const std::uint32_t first = lines.at(finding.span.start).line;
    const std::uint32_t last = lines.at(finding.span.end).line;
    return !silence.empty() && (is_silenced(silence, first, *finding.rule) ||
                                is_silenced(silence, last, *finding.rule));
  });
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.span.start != b.span.start) return a.span.start < b.span.start;
    return a.rule->code < b.rule->code;
  });
}

}  // namespace

syntax::ParseLimits parse_limits(std::string_view path, const Deadline* deadline) {
  syntax::ParseLimits limits;
  limits.indented_cells = kind_of_path(path) == FileKind::kNotebook;
  if (deadline == nullptr) return limits;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline->at - base::ThreadClock::now())
          .count();
  limits.max_milliseconds =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, limits.max_milliseconds));
  return limits;
}

namespace {

// The findings of all matchers, in the order of the nodes.
std::vector<Finding> match(const PythonContext& context, const Selection& selection,
                           Deadline* deadline) {
  std::array<std::vector<const Rule*>, static_cast<std::size_t>(Kind::kCount)> by_kind;
  const auto enrol = [&](const Rule& rule) {
    for (const Kind kind : rule.kinds) by_kind[static_cast<std::size_t>(kind)].push_back(&rule);
  };
  if (selection.empty()) {
    for (const Rule& rule : all_rules()) enrol(rule);
  } else {
    for (const Rule* rule : selection) enrol(*rule);
  }
  std::vector<Finding> findings;
  const syntax::Tree& tree = context.model.tree();
  for (std::uint32_t i = 0; i < tree.size() && findings.size() < kMaxFindings; ++i) {
    const Node node = tree.at(i);
    if (deadline != nullptr && (i & 0x0FU) == 0 && deadline->is_over()) {
      deadline->passed = true;
      return {};
    }
    for (const Rule* rule : by_kind[static_cast<std::size_t>(node.kind())]) {
      Reporter reporter(rule->info, findings);
      rule->python(context, node, reporter);
    }
  }
  std::erase_if(findings, [&](const Finding& finding) {
    const Node place = syntax::node_at(tree, finding.span.start);
    return is_in_replaced_definition(context.model, place) ||
           (finding.rule->void_with_cuda && is_faked(context, place));
  });
  return findings;
}

// The outermost `a if c else b` around a node in its statement. A finding in it is one about the
// whole choice.
Node choice_around(Node node) {
  Node choice;
  for (; node && !node.is_any(Kind::kBlock, Kind::kModule); node = node.parent())
    if (node.is(Kind::kConditional)) choice = node;
  return choice;
}

// The findings in code that runs only with CUDA.
std::vector<Finding> match_guarded(const PythonContext& context, const Selection& selection,
                                   const std::vector<Finding>& known, Deadline* deadline) {
  std::set<std::pair<std::uint32_t, const RuleInfo*>> reported;
  std::set<std::uint32_t> starts;
  for (const Finding& finding : known) {
    reported.emplace(finding.span.start, finding.rule);
    starts.insert(finding.span.start);
  }
  std::vector<Finding> guarded;
  {
    const SemanticModel::GuardsIgnored ignored(context.model);
    guarded = match(context, selection, deadline);
  }
  std::erase_if(guarded, [&](const Finding& finding) {
    const Node place = syntax::node_at(context.model.tree(), finding.span.start);
    const Node choice = choice_around(place);
    const auto inside = starts.lower_bound(choice.start());
    return !finding.rule->void_with_cuda || !is_for_strict(finding.rule->family) ||
           reported.contains({finding.span.start, finding.rule}) ||
           semantics::is_cuda_demand(context.model, syntax::statement_of(place)) ||
           (choice && inside != starts.end() && *inside < choice.end());
  });
  for (Finding& finding : guarded)
    make_guarded(context, syntax::node_at(context.model.tree(), finding.span.start), finding);
  return guarded;
}

}  // namespace

std::vector<Finding> examine_python(const PythonContext& context, const Selection& selection,
                                    Deadline* deadline) {
  const syntax::Tree& tree = context.model.tree();
  std::vector<Finding> findings = match(context, selection, deadline);
  std::vector<Finding> guarded;
  if (context.settings.strict) guarded = match_guarded(context, selection, findings, deadline);
  if (deadline != nullptr && deadline->passed) return {};
  ask_callers(context, findings);
  ask_about_fixes(context, findings);
  hold_back_last_fixes(selection, findings);
  std::move(guarded.begin(), guarded.end(), std::back_inserter(findings));
  drop_what_gives_way(context, findings);
  name_demands(context, findings);
  const bool any_fix = std::any_of(findings.begin(), findings.end(),
                                   [](const Finding& finding) { return !finding.fix.empty(); });
  if (any_fix) {
    const Bindable bindable(context);
    const bool visible_late = flow::sets_visible_devices(context.model);
    for (Finding& finding : findings) {
      std::erase_if(finding.fix, [&](Fix& fix) { return !bindable.admits(fix); });
      for (Fix& fix : finding.fix) {
        keep_comments(tree, fix);
        const bool asks_early = bindable.asks_early(fix);
        const bool exchanged =
            fix.needs.module_device &&
            runs_collectives(context.model, syntax::node_at(tree, finding.span.start));
        const bool in_function =
            syntax::function_of(syntax::node_at(tree, finding.span.start)) &&
            std::any_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& edit) {
              return base::contains_word(edit.text, context.devices.variable()) ||
                     edit::asks_for_accelerator(edit.text);
            });
        if (exchanged || (visible_late && asks_early))
          fix.applicability = std::max(fix.applicability, Applicability::kUnsafe);
        if (fix.applicability != Applicability::kSafe) continue;
        using Kind = flow::Condition::Kind;
        if (in_function) finding.lowered.push_back({{Kind::kScriptsCode, {}, {}}});
        if (asks_early) finding.lowered.push_back({{Kind::kChoosesLate, {}, {}}});
      }
    }
    ask_about_fixes(context, findings);
  }
  Silence silence;
  for (const Node comment : tree.comments()) {
    auto codes = silenced_codes(comment.text());
    if (!codes.empty()) silence[tree.lines().at(comment.start()).line] = std::move(codes);
  }
  finish(findings, silence, tree.lines());
  return findings;
}

std::vector<Finding> examine_text(const TextContext& context, const Selection& selection) {
  std::vector<Finding> findings;
  const auto run = [&](const Rule& rule) {
    if (rule.text == nullptr) return;
    if (std::find(rule.file_kinds.begin(), rule.file_kinds.end(), context.kind) ==
        rule.file_kinds.end())
      return;
    Reporter reporter(rule.info, findings);
    rule.text(context, reporter);
  };
  if (selection.empty()) {
    for (const Rule& rule : all_rules()) run(rule);
  } else {
    for (const Rule* rule : selection) run(*rule);
  }
  Silence silence;
  for (std::uint32_t line = 1; line <= context.lines.line_count(); ++line) {
    const std::string_view text = context.lines.line(line);
    const auto hash = text.find('#');
    if (hash == std::string_view::npos) continue;
    auto codes = silenced_codes(text.substr(hash));
    if (!codes.empty()) silence[line] = std::move(codes);
  }
  finish(findings, silence, context.lines);
  return findings;
}

FileKind kind_of_path(std::string_view path) {
  const std::string name = base::lower(base::file_name(path));
  if (name.ends_with(".py") || name.ends_with(".pyi") || name.ends_with(".pyw"))
    return FileKind::kPython;
  if (name.ends_with(".ipynb")) return FileKind::kNotebook;
  const std::string folder = base::lower(base::file_name(base::parent_path(path)));
  const bool list = name.ends_with(".txt") || name.ends_with(".in");
  const bool yaml = name.ends_with(".yml") || name.ends_with(".yaml");
  if (name == "dockerfile" || name.starts_with("dockerfile.") || name.ends_with(".dockerfile") ||
      name == "containerfile")
    return FileKind::kDockerfile;
  if (name == "cmakelists.txt" || name.ends_with(".cmake")) return FileKind::kCMake;
  if (list && (name.find("requirements") != std::string::npos || name == "constraints.txt" ||
               folder == "requirements")) {
    return FileKind::kRequirements;
  }
  if (yaml && (name.starts_with("environment") || name.starts_with("conda_env") ||
               name.starts_with("conda-env") || name.find("_environment.") != std::string::npos ||
               name.find("-environment.") != std::string::npos)) {
    return FileKind::kRequirements;
  }
  if (name == "pyproject.toml") return FileKind::kPyproject;
  return FileKind::kOther;
}

bool may_matter(std::string_view path, std::string_view source) {
  const FileKind kind = kind_of_path(path);
  if (kind != FileKind::kPython && kind != FileKind::kNotebook) return true;
  // A file in UTF-16 contains none of the words below, but it is reported and not skipped.
  if (source.starts_with("\xFF\xFE") || source.starts_with("\xFE\xFF") ||
      source.substr(0, 64).find('\0') != std::string_view::npos)
    return true;
  return speaks_of_devices(source);
}

}  // namespace torchport::rules
