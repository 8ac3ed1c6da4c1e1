#include "source/project/kernel_folders.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "source/rules/registry.h"

namespace torchport::project {

namespace {

constexpr std::string_view kRule = "TP803";
constexpr std::size_t kFewest = 5;  // fewer findings are listed

bool is_about_devices(const Diagnostic& d) {
  return d.family == "placement" || d.family == "kernels";
}

bool lies_in(const Diagnostic& d, std::string_view folder) {
  return folder.empty() || (d.path.starts_with(folder) && d.path.size() > folder.size() &&
                            d.path[folder.size()] == '/');
}

// The one diagnostic, at the place of the first.
Diagnostic in_short(const Diagnostic& first, const rules::RuleInfo& rule, std::string_view folder,
                    std::size_t findings, std::size_t files) {
  Diagnostic d = first;
  d.code = rule.code;
  d.name = rule.name;
  d.family = rule.family;
  d.severity = rule.severity;
  d.message = fmt::format(
      "{} is CUDA kernels, and what tests and measures them: {} findings in {} file{} are not "
      "listed "
      "one by one. `--ignore {}` lists them.",
      folder.empty() ? "this folder" : folder, findings, files, files == 1 ? "" : "s", kRule);
  d.has_fix = false;
  d.fix_title.clear();
  d.fix_edits.clear();
  d.unless.clear();
  return d;
}

}  // namespace

void fold_kernel_folders(const flow::Summary& project, const rules::Selection& selection,
                         std::vector<Diagnostic>& diagnostics) {
  const auto rule = std::find_if(selection.begin(), selection.end(),
                                 [](const rules::Rule* one) { return one->info.code == kRule; });
  if (rule == selection.end()) return;
  for (const std::string& folder : project.kernel_folders()) {
    const auto folded = [&](const Diagnostic& d) {
      return is_about_devices(d) && lies_in(d, folder);
    };
    std::set<std::string_view> files;
    std::size_t count = 0;
    for (const Diagnostic& d : diagnostics) {
      if (!folded(d)) continue;
      files.insert(d.path);
      ++count;
    }
    if (count < kFewest) continue;
    const auto first = std::find_if(diagnostics.begin(), diagnostics.end(), folded);
    Diagnostic one = in_short(*first, (*rule)->info, folder, count, files.size());
    *first = std::move(one);
    diagnostics.erase(std::remove_if(std::next(first), diagnostics.end(), folded),
                      diagnostics.end());
  }
}

}  // namespace torchport::project
