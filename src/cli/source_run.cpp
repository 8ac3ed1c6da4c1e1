#include "cli/source_run.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <algorithm>
#include <future>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "cli/command.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "source/project/discover.h"
#include "source/project/required_torch.h"

namespace torchport::cli {

namespace {

std::vector<std::string> split_words(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    for (const std::string_view part : base::split(word, ',')) {
      if (!base::trim(part).empty()) result.emplace_back(base::trim(part));
    }
  }
  return result;
}

// Lets the allocator keep what one file needed for the next one. It gives large blocks back to the
// kernel otherwise, and joins its small blocks whenever it gets one back.
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_MXFAST, 0);
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
#endif
}

// Identifies this build of the program: cached results of another build do not count.
std::string fingerprint() {
  const auto status = base::real_file_system().status("/proc/self/exe", true);
  return fmt::format("{}:{}:{}", TORCHPORT_VERSION, status.size, status.mtime_ns);
}

std::unique_ptr<project::Cache> open_cache(const std::string& root) {
  const std::string folder = base::cache_folder(&environment);
  if (folder.empty()) return nullptr;
  base::FileSystem& fs = base::real_file_system();
  if (!fs.make_directories(folder)) return nullptr;
  const project::CacheKey key = project::cache_key({fs.canonical(root).value_or(root)});
  return std::make_unique<project::Cache>(fmt::format("{}/{:016x}.sqlite", folder, key.low));
}

// Where nothing says which torch a project supports, fixes are written for the one that it runs
// with: that of the active environment, or of torchport's own if none is active.
void take_installed_torch(const base::FileSystem& fs, project::Config& config) {
  std::vector<std::string> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (std::string prefix = environment(variable); !prefix.empty())
      prefixes.push_back(std::move(prefix));
  if (prefixes.empty()) prefixes.push_back(own_folder().parent_path().string());
  for (const std::string& prefix : prefixes) {
    const auto sites = project::site_packages(fs, prefix, {});
    if (const auto floor = project::installed_torch(fs, sites)) {
      config.settings.min_torch = floor->version;
      config.min_torch_from = floor->from;
      return;
    }
  }
}

base::Result<void> override_settings(const SelectionOptions& options, project::Config& config) {
  if (!options.min_torch.empty()) {
    const auto version = project::torch_version(options.min_torch);
    if (!version)
      return base::fail(
          base::ErrorCode::kUsage,
          fmt::format("--min-torch {} is not a version: write it like 2.6", options.min_torch));
    config.settings.min_torch = *version;
    config.settings.min_torch_stated = true;
    config.min_torch_from = "--min-torch";
  }
  if (!options.idiom.empty()) {
    const auto idiom = project::parse_idiom(options.idiom);
    if (!idiom)
      return base::fail(
          base::ErrorCode::kUsage,
          fmt::format("--idiom {} is unknown; it is one of auto, accelerator, classic, helper",
                      options.idiom));
    config.settings.idiom = *idiom;
  }
  if (options.strict) config.settings.strict = true;
  if (!options.helper.empty()) config.settings.helper = options.helper;
  if (config.settings.idiom == edit::Idiom::kHelper &&
      !project::is_helper_name(config.settings.helper)) {
    return base::fail(base::ErrorCode::kUsage,
                      "--idiom helper needs --helper package.module:function, a module and its "
                      "function by their names in Python");
  }
  if (!options.select.empty()) config.select = split_words(options.select);
  const auto extend = split_words(options.extend_select);
  config.extend_select.insert(config.extend_select.end(), extend.begin(), extend.end());
  const auto ignore = split_words(options.ignore);
  config.ignore.insert(config.ignore.end(), ignore.begin(), ignore.end());
  const auto exclude = split_words(options.exclude);
  config.exclude.insert(config.exclude.end(), exclude.begin(), exclude.end());
  for (const std::string& pattern : config.exclude) {
    if (project::Glob(pattern).empty())
      return base::fail(
          base::ErrorCode::kUsage,
          fmt::format("\"{}\" is not a pattern for files to exclude: it is empty, a comment, or "
                      "has a \"[\" that nothing closes",
                      pattern));
  }
  return {};
}

}  // namespace

void add_selection_options(CLI::App& command, SelectionOptions& options) {
  command
      .add_option("paths", options.paths, "Files and folders to read (default: the current folder)")
      ->type_name("PATH");
  command
      .add_option("--select", options.select,
                  "Use only these rules: codes, prefixes, names or families, comma-separated")
      ->type_name("RULES")
      ->allow_extra_args(false);
  command
      .add_option("--extend-select", options.extend_select,
                  "Also use these rules, e.g. hygiene: those that are not about devices")
      ->type_name("RULES")
      ->allow_extra_args(false);
  command.add_option("--ignore", options.ignore, "Do not use these rules")
      ->type_name("RULES")
      ->allow_extra_args(false);
  command.add_option("--exclude", options.exclude, "Leave out files that match, as in .gitignore")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  command.add_option("--config", options.config_file, "Read the settings from this file")
      ->type_name("FILE");
  command
      .add_option("--min-torch", options.min_torch,
                  "The oldest torch that the code must run on, e.g. 2.6")
      ->type_name("VERSION");
  command
      .add_option("--idiom", options.idiom,
                  "How inserted code chooses a device: auto, accelerator, classic, helper")
      ->type_name("NAME");
  command
      .add_option("--helper", options.helper,
                  "With --idiom helper: package.module:function that returns the device")
      ->type_name("NAME");
  command.add_flag("--strict", options.strict,
                   "Also report what runs only with CUDA, so that no other accelerator is used");
  command
      .add_option("-j,--threads", options.threads, "Number of threads; 0 means one for each core")
      ->type_name("N");
  command.add_flag("--no-gitignore", options.no_gitignore, "Also read files that .gitignore hides");
  command.add_flag("--no-cache", options.no_cache,
                   "Do not read or write the cache of earlier results");
  command.add_flag("-q,--quiet", options.quiet, "Do not print a progress line");
}

base::Result<SourceRun> start_source_run(const SelectionOptions& options, bool use_cache) {
  keep_memory();
  base::FileSystem& fs = base::real_file_system();
  SourceRun run;
  std::vector<std::string> paths = options.paths;
  if (!options.package.empty()) {
    if (!paths.empty())
      return base::fail(base::ErrorCode::kUsage, "give either paths or --package, not both");
    auto folder = project::find_package(
        fs, options.package,
        project::site_packages(fs, environment("VIRTUAL_ENV"), environment("PATH")));
    if (!folder) return tl::unexpected<base::Error>(folder.error());
    paths.push_back(*folder);
  }
  if (paths.empty()) paths.emplace_back(".");
  run.first_path = paths.front();
  auto config = options.config_file.empty() ? project::load_config(fs, paths.front())
                                            : project::load_config_file(fs, options.config_file);
  if (!config) return tl::unexpected<base::Error>(config.error());
  run.config = std::move(*config);
  if (auto done = override_settings(options, run.config); !done)
    return tl::unexpected<base::Error>(done.error());
  if (run.config.min_torch_from.empty()) take_installed_torch(fs, run.config);
  auto options_of_config = project::check_options(run.config);
  if (!options_of_config) {
    options_of_config.error().code = base::ErrorCode::kUsage;
    return tl::unexpected<base::Error>(options_of_config.error());
  }
  run.check = std::move(*options_of_config);
  project::CheckOptions& check = run.check;
  if (const auto here = fs.canonical("."); here && check.min_torch_from.starts_with(*here + "/"))
    check.min_torch_from.erase(0, here->size() + 1);
  check.threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  check.fingerprint = fingerprint();
  check.cancelled = &interrupted();
  // It is read while the files are looked for.
  std::future<std::unique_ptr<project::Cache>> cache;
  if (use_cache && !options.no_cache)
    cache = std::async(std::launch::async, open_cache, run.config.root);

  project::DiscoveryOptions walk;
  walk.root = run.config.root;
  walk.respect_gitignore = !options.no_gitignore;
  for (const std::string& pattern : run.config.exclude) walk.exclude.add(pattern);
  auto found = project::discover(fs, paths, walk);
  run.files = std::move(found.files);
  run.problems = std::move(found.problems);
  const auto real = [&](const std::string& path) { return fs.canonical(path).value_or(path); };
  const bool whole = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return real(path) == real(walk.root);
  });
  if (!whole) {
    walk.respect_gitignore = true;  // build output and environments call nothing of the project
    check.rest = [walk] {
      return project::discover(base::real_file_system(), {walk.root}, walk).files;
    };
  }
  if (cache.valid()) run.cache = cache.get();
  check.cache = run.cache.get();
  if (!options.quiet) check.progress = progress_line(run.files.size(), "Checking");
  return run;
}

}  // namespace torchport::cli
