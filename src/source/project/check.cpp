#include "source/project/check.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "source/project/callers.h"
#include "source/project/config.h"
#include "source/project/each_file.h"
#include "source/project/examination.h"
#include "source/project/kernel_folders.h"
#include "source/project/verdicts.h"
#include "source/rules/examine.h"
#include "source/rules/registry.h"
#include "source/rules/strict.h"

namespace torchport::project {

namespace {

// What is spent on one file is told from here on.
constexpr std::chrono::milliseconds kNoticed{100};

struct FileResult {
  FileFindings findings;
  std::uint64_t bytes = 0;
  bool relevant = false;
  bool parsed = false;
  std::optional<CacheKey> content;            // of the bytes; only with a cache
  const std::string* packed_facts = nullptr;  // in place of findings.facts: from the cache
};

// Everything besides its bytes that decides a file's findings.
std::string settings_key(const CheckOptions& options) {
  std::string key = options.fingerprint;
  for (const rules::Rule* rule : options.selection) key += rule->info.code;
  key +=
      fmt::format("|{}|{}.{}|{}|{}|{}", options.settings.strict, options.settings.min_torch.major,
                  options.settings.min_torch.minor, options.settings.min_torch_stated,
                  static_cast<int>(options.settings.idiom), options.settings.helper);
  return key;
}

void drop_ignored(const std::string& path, const CheckOptions& options,
                  std::vector<Diagnostic>& diagnostics) {
  const auto silenced = silenced_rules(path, options);
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    return std::any_of(silenced.begin(), silenced.end(),
                       [&](const rules::Rule* rule) { return rule->info.code == d.code; });
  });
}

std::optional<flow::FileFacts> take_facts(const base::FileSystem& fs, const std::string& path,
                                          FileResult& result, const CheckOptions& options) {
  if (result.packed_facts == nullptr) return std::move(result.findings.facts);
  if (auto facts = flow::unpack_facts(*result.packed_facts)) return facts;
  CheckOptions without_cache = options;
  without_cache.cache = nullptr;
  return facts_of(fs, path, without_cache);
}

// Says of a finding that other code makes void what a strict check has to say about it.
void tell_of_callers(Diagnostic& d) {
  d.message =
      "Other code of the project lets this run only with CUDA: other accelerators are never used "
      "here.";
  d.has_fix = false;
  d.fix_edits.clear();
}

// What the files say together, and the rest of the project with them if a finding depends on it;
// null if there are no findings.
std::shared_ptr<const flow::Summary> ask_project(const base::FileSystem& fs,
                                                 const std::vector<std::string>& files,
                                                 std::vector<std::optional<FileResult>>& results,
                                                 const CheckOptions& options) {
  const bool any = std::any_of(results.begin(), results.end(), [](const auto& result) {
    return result && !result->findings.diagnostics.empty();
  });
  if (!any) return nullptr;
  const bool any_question = std::any_of(results.begin(), results.end(), [](const auto& result) {
    return result &&
           std::any_of(result->findings.diagnostics.begin(), result->findings.diagnostics.end(),
                       [](const Diagnostic& d) { return !d.unless.empty() || !d.lowered.empty(); });
  });
  ProjectFacts known;
  auto facts = each_index<std::optional<flow::FileFacts>>(
      files.size(), without_progress(options),
      [&](std::size_t i) {
        return results[i] ? take_facts(fs, files[i], *results[i], options) : std::nullopt;
      },
      [](const std::exception&, std::size_t) { return std::nullopt; });
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!results[i]) continue;
    if (facts[i] && *facts[i])
      known.files.push_back({files[i], std::move(**facts[i])});
    else
      known.not_parsed.push_back({files[i], results[i]->content});
  }
  if (options.rest && any_question) add_rest(fs, files, options, known);
  return join(fs, std::move(known), options);
}

// What identifies the answers of all files together; none if they are not kept: without a cache,
// with files besides these, or after a run that did not see everything.
std::optional<CacheKey> key_of_all(const std::vector<std::string>& files,
                                   const std::vector<std::optional<FileResult>>& results,
                                   const std::string& settings, const CheckOptions& options) {
  if (options.cache == nullptr || options.rest || options.wants_project) return std::nullopt;
  std::string all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::optional<FileResult>& result = results[i];
    if (!result || !result->content) return std::nullopt;
    const auto& problems = result->findings.problems;
    if (std::any_of(problems.begin(), problems.end(), [](const base::Error& problem) {
          return problem.code != base::ErrorCode::kSyntax;
        }))
      return std::nullopt;
    all += files[i];
    all += bytes_of(*result->content);
    // Per-file patterns take some away.
    for (const Diagnostic& d : result->findings.diagnostics)
      all += fmt::format("{}:{}:{} ", d.code, d.line, d.column);
  }
  return cache_key({"together", settings, all});
}

// The answers of all files together, for the findings in the order of the files.
Verdicts ask_for_verdicts(const flow::Summary& project,
                          const std::vector<std::optional<FileResult>>& results) {
  Verdicts verdicts;
  verdicts.kernel_folders = project.kernel_folders();
  verdicts.kernel_tests = project.kernel_tests();
  for (const std::optional<FileResult>& result : results) {
    if (!result) continue;
    for (const Diagnostic& d : result->findings.diagnostics) {
      verdicts.is_void.push_back(std::any_of(
          d.unless.begin(), d.unless.end(),
          [&](const flow::Condition& condition) { return project.holds(d.path, condition); }));
      for (std::size_t i = 0; i < d.lowered.size(); ++i)
        if (project.holds(d.path, d.lowered[i].when))
          verdicts.lowered[verdicts.is_void.size() - 1].push_back(i);
    }
  }
  return verdicts;
}

// A star may bring names of another file of the project, whatever its own file speaks of.
bool has_star(std::string_view source) {
  return source.find("import *") != std::string_view::npos;
}

FileResult check_one(const base::FileSystem& fs, const std::string& path,
                     const CheckOptions& options, const std::string& settings) {
  FileResult result;
  auto source = fs.read(path);
  if (!source) {
    result.findings.problems.push_back(source.error());
    return result;
  }
  result.bytes = source->size();
  CacheKey key;
  CacheKey matters;
  if (options.cache != nullptr) {
    const CacheKey content = cache_key({*source});
    result.content = content;
    // Of the kind of file that the path says.
    matters = cache_key({"no matter", options.fingerprint, path, bytes_of(content)});
    if (options.cache->get(matters) != nullptr) return result;
    key = cache_key({settings, path, bytes_of(content)});
    const std::string* packed = options.cache->get(key);
    result.packed_facts = cached_facts(content, options);
    if (packed != nullptr && result.packed_facts != nullptr &&
        unpack(*packed, path, result.findings.diagnostics)) {
      result.relevant = !has_star(*source) || rules::may_matter(path, *source);
      drop_ignored(path, options, result.findings.diagnostics);
      return result;
    }
    result.packed_facts = nullptr;
  }
  result.relevant = rules::may_matter(path, *source);
  if (!result.relevant && !has_star(*source)) {
    if (options.cache != nullptr) options.cache->put(matters, {});
    return result;
  }
  result.parsed = true;
  result.findings = check_source(path, *source, options);
  // The content is the key, so a file that changes while it is read is checked again by the next
  // run.
  if (result.content && result.findings.problems.empty() && result.findings.facts) {
    options.cache->put(key, pack(result.findings.diagnostics));
    cache_facts(*result.content, options, *result.findings.facts);
  }
  drop_ignored(path, options, result.findings.diagnostics);
  return result;
}

}  // namespace

rules::Selection silenced_rules(const std::string& path, const CheckOptions& options) {
  std::string_view relative = path;
  if (options.root != "." && relative.starts_with(options.root + "/"))
    relative.remove_prefix(options.root.size() + 1);
  rules::Selection silenced;
  for (const auto& [globs, ignored] : options.per_file_ignores)
    if (globs.decide(relative, false) > 0)
      silenced.insert(silenced.end(), ignored.begin(), ignored.end());
  return silenced;
}

CheckOptions without_silenced(const std::string& path, const CheckOptions& options) {
  CheckOptions own = options;
  const auto silenced = silenced_rules(path, options);
  std::erase_if(own.selection, [&](const rules::Rule* rule) {
    return std::find(silenced.begin(), silenced.end(), rule) != silenced.end();
  });
  return own;
}

base::Result<CheckOptions> check_options(const Config& config) {
  CheckOptions options;
  auto selection =
      select_rules(config.select, config.ignore, config.extend_select, config.settings.strict);
  if (!selection) return tl::unexpected<base::Error>(selection.error());
  options.selection = std::move(*selection);
  options.settings = config.settings;
  options.min_torch_from = config.min_torch_from;
  options.root = config.root;
  for (const auto& [pattern, codes] : config.per_file_ignores) {
    auto ignored = select_rules(codes, {});
    if (!ignored) return tl::unexpected<base::Error>(ignored.error());
    GlobList globs;
    globs.add(pattern);
    options.per_file_ignores.emplace_back(std::move(globs), std::move(*ignored));
  }
  return options;
}

rules::Deadline file_deadline(base::ThreadClock::duration spent) {
  return {base::ThreadClock::now() + kFileBudget - spent};
}

FileFindings check_source(const std::string& path, std::string source, const CheckOptions& options,
                          rules::Deadline* deadline) {
  const auto started = base::ThreadClock::now();
  rules::Deadline own = file_deadline();
  if (deadline == nullptr) deadline = &own;
  const auto examined = examine_source(path, std::move(source), options, *deadline);
  FileFindings result;
  result.problems = std::move(examined->problems);
  if (examined->model && options.project == nullptr && !deadline->passed)
    result.facts = flow::collect_facts(*examined->model, deadline->at);
  else if (!examined->model && result.problems.empty())
    result.facts = flow::facts_of_imports({});  // not Python
  result.took = base::ThreadClock::now() - started;
  if (examined->findings.empty()) return result;
  // The findings of a notebook's program are shown where they are in the .ipynb file.
  const auto& notebook = examined->notebook;
  const base::LineIndex lines(notebook ? notebook->json() : examined->code());
  const bool editable = !notebook && !(examined->tree && examined->tree->has_syntax_error());
  for (rules::Finding& finding : examined->findings) {
    std::vector<TextEdit> edits;
    if (editable && !finding.fix.empty())
      edits = edits_alone(finding.fix.front(), examined->devices.get(), lines);
    if (notebook)
      finding.span = {notebook->json_offset(finding.span.start),
                      notebook->json_offset(finding.span.end)};
    result.diagnostics.push_back(make_diagnostic(finding, path, lines));
    result.diagnostics.back().fix_edits = std::move(edits);
  }
  return result;
}

CheckReport check_files(const base::FileSystem& fs, const std::vector<std::string>& files,
                        const CheckOptions& options) {
  const std::string settings = settings_key(options);
  auto results = each_file<FileResult>(
      files, options,
      [&](const std::string& path) { return check_one(fs, path, options, settings); },
      [](base::Error error) {
        FileResult result;
        result.findings.problems.push_back(std::move(error));
        return result;
      });

  CheckReport report;
  std::size_t findings = 0;
  for (const auto& result : results) findings += result ? result->findings.diagnostics.size() : 0;
  const auto key = key_of_all(files, results, settings, options);
  const std::string* packed = key ? options.cache->get(*key) : nullptr;
  Verdicts verdicts;
  if (packed == nullptr || !unpack_verdicts(*packed, verdicts) ||
      verdicts.is_void.size() != findings) {
    verdicts = {};
    report.project = ask_project(fs, files, results, options);
    if (report.project) verdicts = ask_for_verdicts(*report.project, results);
    if (key) options.cache->put(*key, pack_verdicts(verdicts));
  }
  std::size_t finding = 0;
  report.cancelled = options.cancelled != nullptr && options.cancelled->load();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!results[i]) continue;
    FileResult& result = *results[i];
    ++report.files;
    report.bytes += result.bytes;
    report.relevant += result.relevant ? 1 : 0;
    if (result.relevant) report.relevant_paths.push_back(files[i]);
    report.parsed += result.parsed ? 1 : 0;
    if (result.findings.took > kNoticed) report.slow[files[i]] = result.findings.took;
    for (Diagnostic& d : result.findings.diagnostics) {
      const auto lowered = verdicts.lowered.find(finding);
      const bool is_void = verdicts.is_void[finding++];
      if (is_void && !(options.settings.strict && rules::is_for_strict(d.family))) continue;
      if (is_void) tell_of_callers(d);
      if (lowered != verdicts.lowered.end()) {
        for (const std::size_t which : lowered->second)
          if (which < d.lowered.size()) lower_fix(d, d.lowered[which]);
      }
      report.diagnostics.push_back(std::move(d));
    }
    for (base::Error& e : result.findings.problems) report.problems.push_back(std::move(e));
  }
  fold_kernel_folders(verdicts, options.selection, report.diagnostics);
  return report;
}

}  // namespace torchport::project
