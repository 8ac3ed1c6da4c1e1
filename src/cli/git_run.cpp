#include "cli/git_run.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file_system.h"
#include "base/text.h"

namespace torchport::cli {

namespace {

constexpr std::size_t kMostAnswer = std::size_t{1} << 30U;  // bytes

// What holds for every question, in each release of git that knows the name.
const std::vector<std::string>& safe_options() {
  static const std::vector<std::string> kOptions{"--no-pager",
                                                 "-c",
                                                 "core.fsmonitor=false",
                                                 "-c",
                                                 "core.hooksPath=/dev/null",
                                                 "-c",
                                                 "safe.bareRepository=explicit",
                                                 "-c",
                                                 "core.alternateRefsCommand=",
                                                 "-c",
                                                 "diff.external=",
                                                 "-c",
                                                 "submodule.recurse=false"};
  return kOptions;
}

std::map<std::string, std::optional<std::string>> safe_environment() {
  return {{"LC_ALL", "C"},
          {"GIT_OPTIONAL_LOCKS", "0"},
          // A partial clone would fetch what it lacks, by a program that its configuration names.
          {"GIT_NO_LAZY_FETCH", "1"},
          {"GIT_ALLOW_PROTOCOL", "none"},
          {"GIT_TERMINAL_PROMPT", "0"}};
}

// What `.git` in this folder names; none if there is no such entry.
std::optional<std::string> named_by(const std::string& folder) {
  const base::FileSystem& files = base::real_file_system();
  const std::string entry = folder == "/" ? "/.git" : folder + "/.git";
  const auto text = files.read(entry);
  std::string named = entry;
  constexpr std::string_view kStart = "gitdir:";
  if (text && text->starts_with(kStart)) {
    named = base::trim(std::string_view(*text).substr(kStart.size()));
    if (!named.starts_with('/')) named = folder + "/" + named;
  }
  auto real = files.canonical(named);
  if (!real) return std::nullopt;
  return *real;
}

}  // namespace

base::Result<base::Ended> GitFolder::run(const std::vector<std::string>& words) const {
  std::vector<std::string> command{"git"};
  command.insert(command.end(), safe_options().begin(), safe_options().end());
  if (!folder_.empty()) command.insert(command.end(), {"-C", folder_});
  command.insert(command.end(), words.begin(), words.end());
  Environment environment = safe_environment();
  environment.insert(filters_.begin(), filters_.end());
  return base::run({.words = std::move(command),
                    .environment = std::move(environment),
                    .most_output = kMostAnswer,
                    .time_limit = time_limit_});
}

// Whether git's choice for this folder is the repository that a `.git` above the folder names. A
// user who names one by GIT_DIR has chosen.
bool GitFolder::is_chosen_by_name() const {
  if (std::getenv("GIT_DIR") != nullptr) return true;  // NOLINT(concurrency-mt-unsafe)
  const auto chosen = run({"rev-parse", "--absolute-git-dir"});
  if (!chosen || !chosen->well()) return true;  // git will say why
  std::string_view line = chosen->output;
  if (line.ends_with('\n')) line.remove_suffix(1);
  const base::FileSystem& files = base::real_file_system();
  const auto repository = files.canonical(std::string(line));
  const auto at = files.canonical(folder_.empty() ? "." : folder_);
  if (!repository || !at) return false;
  for (std::string above = *at;; above = above.substr(0, above.rfind('/'))) {
    if (above.empty()) above = "/";
    if (const auto named = named_by(above)) return *named == *repository;
    if (above == "/") return false;
  }
}

// Takes the filters from the user's configuration instead of the repository's: `clean` and
// `process` run for each file that git compares.
GitFolder::Environment GitFolder::without_filters() const {
  constexpr const char* kPattern = R"(^filter\..*\.(clean|smudge|process|required)$)";
  const auto listed = run({"config", "--show-scope", "-z", "--get-regexp", kPattern});
  Environment result;
  if (!listed || !listed->well()) return result;  // there are none
  int count = 0;
  if (const char* before = std::getenv("GIT_CONFIG_COUNT"))  // NOLINT(concurrency-mt-unsafe)
    std::from_chars(before, before + std::string_view(before).size(), count);
  std::map<std::string, std::string> of_user;
  // The scope, then the key and its value with a line break between them, each with a NUL behind
  // it.
  std::string_view scope;
  for (const std::string_view part : base::split(listed->output, '\0')) {
    if (scope.empty()) {
      scope = part;
      continue;
    }
    const std::size_t end = part.find('\n');
    const std::string key(part.substr(0, end));
    if (scope == "system" || scope == "global" || scope == "command") {
      // Without a value it is `true`.
      of_user[key] = end == std::string_view::npos ? "true" : std::string(part.substr(end + 1));
    } else {
      const std::string number = std::to_string(count++);
      const auto known = of_user.find(key);
      result["GIT_CONFIG_KEY_" + number] = key;
      result["GIT_CONFIG_VALUE_" + number] = known != of_user.end()       ? known->second
                                             : key.ends_with(".required") ? "false"
                                                                          : "";
    }
    scope = {};
  }
  if (!result.empty()) result["GIT_CONFIG_COUNT"] = std::to_string(count);
  return result;
}

base::Result<base::Ended> GitFolder::ask(const std::vector<std::string>& words) const {
  if (!is_repository_) {
    is_repository_ = is_chosen_by_name();
    filters_ = without_filters();
  }
  if (*is_repository_) return run(words);
  base::Ended none;
  none.exit_code = 128;
  none.errors = "fatal: not a git repository (a bare repository among the files does not count)\n";
  return none;
}

}  // namespace torchport::cli
