#include "source/project/fix.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "source/project/notebook_check.h"
#include "source/rules/converge.h"

namespace torchport::project {

namespace {

using base::ErrorCode;

struct FileFix {
  std::vector<Change> change;  // none or one
  std::map<std::string_view, int> applied;
  FileFindings left;
  bool done = false;
};

// The selection without what per-file patterns silence.
CheckOptions options_for(const std::string& path, const CheckOptions& options) {
  CheckOptions own = options;
  std::string_view relative = path;
  if (options.root != "." && relative.starts_with(options.root + "/"))
    relative.remove_prefix(options.root.size() + 1);
  for (const auto& [globs, ignored] : options.per_file_ignores) {
    if (globs.decide(relative, false) <= 0) continue;
    std::erase_if(own.selection, [&, list = &ignored](const rules::Rule* rule) {
      return std::find(list->begin(), list->end(), rule) != list->end();
    });
  }
  return own;
}

base::Result<rules::Converged> converge(const std::string& path, const std::string& source,
                                        const CheckOptions& options, edit::Applicability tier,
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
                                    &deadline);
    case rules::FileKind::kNotebook:
      return converge_notebook(path, source, options, tier, &deadline);
    default:
      return rules::converge_text(path, kind, source, options.selection, options.settings, tier);
  }
}

FileFix fix_one(const base::FileSystem& fs, const std::string& path, const CheckOptions& all,
                edit::Applicability tier) {
  FileFix result;
  result.done = true;
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
  const CheckOptions options = options_for(path, all);
  if (status.type == base::FileType::kSymlink) {
    result.left = check_source(path, *source, options);
    if (!result.left.diagnostics.empty())
      refuse(ErrorCode::kUsage, "is a link; not edited: name the file it points to");
    return result;
  }
  rules::Deadline deadline = file_deadline();
  auto fixed = converge(path, *source, options, tier, deadline);
  if (!fixed) {
    base::Error error = fixed.error();
    error.path = path;
    result.left.problems.push_back(std::move(error));
    return result;
  }
  if (fixed->left) {
    const base::LineIndex lines(fixed->text);
    for (const rules::Finding& finding : *fixed->left)
      result.left.diagnostics.push_back(make_diagnostic(finding, path, lines));
  } else {
    result.left = check_source(path, fixed->text, options, &deadline);
  }
  if (fixed->reverted) {
    refuse(
        ErrorCode::kInternal,
        fmt::format(
            "a fix of {} broke the syntax, so nothing in this file was changed; please report it",
            fixed->reverted_by));
  }
  if (fixed->text == *source) return result;
  result.applied = std::move(fixed->applied);
  result.change.push_back({path, std::move(*source), std::move(fixed->text), status.mode});
  return result;
}

}  // namespace

FixPlan plan_fixes(const base::FileSystem& fs, const std::vector<std::string>& files,
                   const CheckOptions& options, edit::Applicability tier) {
  std::vector<FileFix> results(files.size());
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto work = [&] {
    while (options.cancelled == nullptr || !options.cancelled->load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= files.size()) return;
      try {
        results[i] = fix_one(fs, files[i], options, tier);
      } catch (const std::exception& error) {
        results[i].done = true;
        results[i].left.problems.push_back(
            {ErrorCode::kInternal, fmt::format("skipped: {}", error.what()), files[i], 0});
      }
      if (options.progress) options.progress(done.fetch_add(1) + 1);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1;
       i < std::min<std::size_t>(std::max(options.threads, 1U), files.size() + 1); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  FixPlan plan;
  for (FileFix& result : results) {
    plan.files += result.done ? 1 : 0;
    for (Change& change : result.change) plan.changes.push_back(std::move(change));
    for (const auto& [code, n] : result.applied)
      plan.fixed[std::string(code)] += static_cast<std::size_t>(n);
    for (Diagnostic& d : result.left.diagnostics) plan.left.push_back(std::move(d));
    for (base::Error& e : result.left.problems) plan.problems.push_back(std::move(e));
  }
  return plan;
}

}  // namespace torchport::project
