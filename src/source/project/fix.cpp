#include "source/project/fix.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "source/project/each_file.h"
#include "source/project/line_length.h"
#include "source/project/notebook_check.h"
#include "source/project/shared_device.h"
#include "source/rules/converge.h"

namespace torchport::project {

namespace {

using base::ErrorCode;

// The rule that widens a choice between CUDA and the CPU.
constexpr std::string_view kChoice = "TP106";

struct FileFix {
  std::vector<Change> change;  // at most one
  std::map<std::string_view, int> applied;
  FileFindings left;
  bool gives_device = false;  // the file got a device variable
  bool chooses = false;       // it got a longer choice of a device
};

bool has_choice_rule(const CheckOptions& options) {
  return options.selection.empty() ||
         std::any_of(options.selection.begin(), options.selection.end(),
                     [](const rules::Rule* rule) { return rule->info.code == kChoice; });
}

// Whether the files that share tensors with this one leave on the CPU what is not on CUDA.
bool is_only_cuda(const CheckOptions& options, const std::string& path) {
  if (options.project == nullptr) return false;
  const semantics::CudaOrCpu found = options.project->cuda_or_cpu(path);
  return found.keeps || (found.chooses && !options.settings.extends_choices);
}

// `spent` is what the file's check took of its budget: both together keep to it.
FileFix fix_one(const base::FileSystem& fs, const std::string& path, const CheckOptions& all,
                edit::Applicability tier, base::ThreadClock::duration spent) {
  FileFix result;
  const auto refuse = [&](ErrorCode code, std::string message) {
    result.left.problems.push_back({code, std::move(message), path, 0});
  };
  const auto status = fs.status(path, false);
  auto source = fs.read(path);
  if (!source) {
    result.left.problems.push_back(source.error());
    return result;
  }
  if (!rules::may_matter(path, *source)) return result;
  CheckOptions options = without_silenced(path, all);
  options.settings.only_cuda = is_only_cuda(all, path);
  options.settings.private_variable =
      all.project != nullptr && all.project->is_imported_by_star(path);
  if (const auto length = line_length_of_file(fs, path)) options.settings.line_length = length;
  if (status.type == base::FileType::kSymlink) {
    result.left = check_source(path, *source, options);
    if (!result.left.diagnostics.empty())
      refuse(ErrorCode::kUsage, "is a link and was not edited; name the file it points to");
    return result;
  }
  rules::Deadline deadline = file_deadline(spent);
  auto fixed = converge_source(path, *source, options, tier, deadline);
  if (!fixed) {
    base::Error error = fixed.error();
    error.path = path;
    if (error.code == ErrorCode::kBudget && spent > spent.zero())
      error.message = "takes too long to fix, so it was not changed";
    result.left.problems.push_back(std::move(error));
    return result;
  }
  if (const auto& left = fixed->left) {
    const base::LineIndex lines(fixed->text);
    for (const rules::Finding& finding : *left)
      result.left.diagnostics.push_back(make_diagnostic(finding, path, lines));
  } else {
    result.left = check_source(path, fixed->text, options, &deadline);
  }
  if (fixed->reverted) {
    refuse(ErrorCode::kInternal, fmt::format("a fix of {} broke the syntax, so the fixes of that "
                                             "rule were left out; please report it",
                                             fixed->reverted_by));
  }
  if (!fixed->withheld.empty()) {
    refuse(ErrorCode::kUsage,
           fmt::format("the fixes of {} were left out: with them {}; change these lines yourself",
                       fmt::join(fixed->withheld, ", "), fixed->harm));
  }
  if (fixed->text == *source) return result;
  result.applied = std::move(fixed->applied);
  result.gives_device = fixed->gives_device;
  result.chooses = result.applied.contains(kChoice);
  result.change.push_back({path, std::move(*source), std::move(fixed->text), status.mode});
  return result;
}

// What a check found, by path.
using Left = std::unordered_map<std::string, FileFindings>;

Left by_file(CheckReport& report) {
  Left left;
  for (Diagnostic& d : report.diagnostics) left[d.path].diagnostics.push_back(std::move(d));
  for (base::Error& e : report.problems) left[e.path].problems.push_back(std::move(e));
  return left;
}

// Where the fixed files that choose a device can take it from instead.
SharedDevices shared_devices(const base::FileSystem& fs, const std::vector<std::string>& files,
                             const CheckOptions& options,
                             const std::vector<std::optional<FileFix>>& results) {
  std::vector<std::string> choosing;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (results[i] && (results[i]->gives_device || results[i]->chooses))
      choosing.push_back(files[i]);
  if (choosing.empty() || options.project == nullptr ||
      options.settings.idiom == edit::Idiom::kHelper)
    return {};
  edit::Settings settings = options.settings;
  settings.only_cuda = std::any_of(choosing.begin(), choosing.end(), [&](const std::string& path) {
    return is_only_cuda(options, path);
  });
  return share_devices(fs, options.project->packages(), choosing, files, settings);
}

FileFix failed(base::Error error) {
  FileFix result;
  result.left.problems.push_back(std::move(error));
  return result;
}

// Fixes the files that choose a device once more, where they can take it from their package, and
// replaces their results. Returns the modules that have to be written for that.
template <class Fixed>
std::vector<Change> share(const base::FileSystem& fs, const std::vector<std::string>& files,
                          const CheckOptions& options, const Fixed& fixed,
                          std::vector<std::optional<FileFix>>& results) {
  const SharedDevices shared = shared_devices(fs, files, options, results);
  std::vector<std::size_t> places;
  std::vector<std::string> again;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!shared.by_path.contains(files[i])) continue;
    places.push_back(i);
    again.push_back(files[i]);
  }
  auto sharing = each_file<FileFix>(
      again, options,
      [&](const std::string& path) {
        CheckOptions with = options;
        with.settings.shared = shared.by_path.at(path).device;
        return fixed(path, with);
      },
      failed);
  std::unordered_map<std::string_view, std::size_t> users;  // of each module
  for (std::size_t i = 0; i < again.size(); ++i)
    if (sharing[i] && sharing[i]->gives_device) ++users[shared.by_path.at(again[i]).from];
  std::vector<Change> created;
  std::unordered_set<std::string_view> dropped;
  for (const Change& made : shared.created) {
    if (users[made.path] >= kFewestSharing)
      created.push_back(made);
    else
      dropped.insert(made.path);
  }
  for (std::size_t i = 0; i < again.size(); ++i)
    if (!dropped.contains(shared.by_path.at(again[i]).from))
      results[places[i]] = std::move(sharing[i]);
  return created;
}

bool has_fix(const FileFindings& findings, edit::Applicability tier) {
  return std::any_of(findings.diagnostics.begin(), findings.diagnostics.end(),
                     [&](const Diagnostic& d) {
                       return d.has_fix && d.applicability != edit::Applicability::kDisplay &&
                              d.applicability <= tier;
                     });
}

}  // namespace

base::Result<rules::Converged> converge_source(const std::string& path, const std::string& source,
                                               const CheckOptions& options,
                                               edit::Applicability tier,
                                               rules::Deadline& deadline) {
  if (options.selection.empty()) {
    rules::Converged same;
    same.text = source;
    return same;
  }
  const rules::FileKind kind = rules::kind_of_path(path);
  switch (kind) {
    case rules::FileKind::kPython:
    case rules::FileKind::kOther:
      return rules::converge_python(path, source, options.selection, options.settings, tier,
                                    &deadline, options.project);
    case rules::FileKind::kNotebook:
      return converge_notebook(path, source, options, tier, &deadline);
    default:
      return rules::converge_text(path, kind, source, options.selection, options.settings, tier);
  }
}

FixPlan plan_fixes(const base::FileSystem& fs, const std::vector<std::string>& files,
                   const CheckOptions& all, edit::Applicability tier) {
  CheckOptions options = all;
  options.progress = nullptr;
  options.wants_project = true;
  CheckReport before = check_files(fs, files, options);
  options.progress = all.progress;
  options.project = before.project.get();
  options.settings.extends_choices =
      tier >= edit::Applicability::kUnsafe && has_choice_rule(options);
  Left left = by_file(before);
  const auto fixed = [&](const std::string& path, const CheckOptions& with) {
    const auto slow = before.slow.find(path);
    return fix_one(fs, path, with, tier,
                   slow == before.slow.end() ? base::ThreadClock::duration{} : slow->second);
  };
  auto results = each_file<FileFix>(
      files, options,
      [&](const std::string& path) {
        const auto found = left.find(path);
        if (found == left.end()) return FileFix{};
        if (has_fix(found->second, tier)) return fixed(path, options);
        FileFix same;
        same.left = std::move(found->second);
        return same;
      },
      failed);

  FixPlan plan;
  plan.changes = share(fs, files, options, fixed, results);
  for (std::optional<FileFix>& reached : results) {
    if (!reached) continue;
    FileFix& result = *reached;
    ++plan.files;
    for (Change& change : result.change) {
      for (const auto& [code, n] : result.applied)
        change.fixed[std::string(code)] += static_cast<std::size_t>(n);
      plan.changes.push_back(std::move(change));
    }
    for (Diagnostic& d : result.left.diagnostics) plan.left.push_back(std::move(d));
    for (base::Error& e : result.left.problems) plan.problems.push_back(std::move(e));
  }
  return plan;
}

}  // namespace torchport::project
