#include "source/project/kernel_folders.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/file_system.h"
#include "source/rules/registry.h"

namespace torchport::project {

namespace {

constexpr std::string_view kRule = "TP803";
constexpr std::size_t kFewest = 5;  // fewer findings are listed

bool is_about_devices(const Diagnostic& d) {
  return d.family == "placement" || d.family == "kernels";
}

bool lies_in(const Diagnostic& d, std::string_view folder) {
  return base::is_within(d.path, folder);
}

// What is not listed one by one.
struct Folded {
  std::size_t findings = 0;
  std::set<std::string_view> files;
};

// The one diagnostic, at the place of the first.
Diagnostic in_short(const Diagnostic& first, const rules::RuleInfo& rule, std::string_view what,
                    const Folded& folded) {
  Diagnostic d = first;
  d.code = rule.code;
  d.name = rule.name;
  d.family = rule.family;
  d.severity = rule.severity;
  const std::size_t files = folded.files.size();
  d.message = fmt::format(
      "{}: {} findings in {} file{} are not listed one by one. `--ignore {}` lists them.", what,
      folded.findings, files, files == 1 ? "" : "s", kRule);
  d.has_fix = false;
  d.fix_title.clear();
  d.fix_edits.clear();
  d.unless.clear();
  return d;
}

// Replaces the diagnostics for which `is_folded` holds by one, if there are several.
template <class IsFolded>
void fold(const rules::RuleInfo& rule, std::string_view what, const IsFolded& is_folded,
          std::vector<Diagnostic>& diagnostics) {
  const auto counts = [&](const Diagnostic& d) { return is_about_devices(d) && is_folded(d); };
  Folded folded;
  for (const Diagnostic& d : diagnostics) {
    if (!counts(d)) continue;
    folded.files.insert(d.path);
    ++folded.findings;
  }
  if (folded.findings < kFewest) return;
  const auto first = std::find_if(diagnostics.begin(), diagnostics.end(), counts);
  Diagnostic one = in_short(*first, rule, what, folded);
  *first = std::move(one);
  diagnostics.erase(std::remove_if(std::next(first), diagnostics.end(), counts), diagnostics.end());
}

}  // namespace

void fold_kernel_folders(const Verdicts& verdicts, const rules::Selection& selection,
                         std::vector<Diagnostic>& diagnostics) {
  const auto rule = std::find_if(selection.begin(), selection.end(),
                                 [](const rules::Rule* one) { return one->info.code == kRule; });
  if (rule == selection.end()) return;
  const rules::RuleInfo& info = (*rule)->info;
  const auto name_of = [](std::string_view folder) {
    return folder.empty() || folder == "." ? std::string_view("this folder") : folder;
  };
  for (const std::string& folder : verdicts.kernel_folders)
    fold(
        info, fmt::format("{} is CUDA kernels, and what tests and measures them", name_of(folder)),
        [&](const Diagnostic& d) { return lies_in(d, folder); }, diagnostics);
  std::map<std::string_view, std::set<std::string_view>> tests;  // by folder
  for (const std::string& path : verdicts.kernel_tests) tests[base::parent_path(path)].insert(path);
  for (const auto& [folder, files] : tests)
    fold(
        info, fmt::format("{} tests and measures CUDA kernels", name_of(folder)),
        [&](const Diagnostic& d) { return d.code != kRule && files.contains(d.path); },
        diagnostics);
}

}  // namespace torchport::project
