// Finds what has changed since a commit.
#include <chrono>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "cli/git.h"
#include "cli/git_run.h"

namespace torchport::cli {

namespace {

using base::ErrorCode;

constexpr std::chrono::seconds kAnswerTime{120};

// Answers of git in one folder.
class Git {
 public:
  explicit Git(std::string folder) : git_(std::move(folder), kAnswerTime) {}

  // Fails with kUsage if git is not installed, and with kBudget if it does not answer.
  [[nodiscard]] base::Result<base::Ended> ask(const std::vector<std::string>& words) const {
    auto ended = git_.ask(words);
    if (!ended)
      return base::fail(ErrorCode::kUsage,
                        "--diff needs git, and there is none in PATH; install it, or check without "
                        "--diff");
    if (ended->out_of_time || ended->too_much_output)
      return base::fail(ErrorCode::kBudget,
                        fmt::format("`git {}` {}; check without --diff", words.front(),
                                    ended->out_of_time ? fmt::format("did not end within {} s",
                                                                     kAnswerTime.count())
                                                       : "writes too much"));
    return ended;
  }

  // One line of output; empty if git refuses.
  [[nodiscard]] base::Result<std::string> line(const std::vector<std::string>& words) const {
    auto ended = ask(words);
    if (!ended) return tl::unexpected<base::Error>(ended.error());
    return ended->well() ? std::string(base::trim(ended->output)) : std::string();
  }

  [[nodiscard]] base::Result<std::string> commit(const std::string& name) const {
    return line({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
  }

 private:
  GitFolder git_;
};

tl::unexpected<base::Error> no_repository(const std::string& folder, const std::string& errors) {
  if (errors.find("dubious ownership") != std::string::npos)
    return base::fail(
        ErrorCode::kUsage,
        "git refuses this repository because another user owns it; trust it with `git "
        "config --global --add safe.directory \"$PWD\"` in its top folder",
        folder);
  return base::fail(
      ErrorCode::kUsage,
      "--diff needs a git repository with a work tree, and this is in none; run it in "
      "a checkout, or check without --diff",
      folder);
}

// Why this commit cannot be compared with, as far as the clone is the reason.
base::Result<void> complete(const Git& git, const std::string& base) {
  const auto shallow = git.line({"rev-parse", "--is-shallow-repository"});
  if (!shallow) return tl::unexpected<base::Error>(shallow.error());
  if (*shallow != "true") return {};
  return base::fail(
      ErrorCode::kUsage,
      fmt::format("this shallow clone does not have the history from {} to here; get it with `git "
                  "fetch --unshallow` (in a workflow of GitHub: actions/checkout with fetch-depth: "
                  "0)",
                  base));
}

base::Result<std::string> merge_base(const Git& git, const std::string& base) {
  auto commit = git.commit(base);
  if (!commit) return commit;
  if (commit->empty()) {
    if (auto here = complete(git, base); !here) return tl::unexpected<base::Error>(here.error());
    auto remote = git.commit("refs/remotes/origin/" + base);
    if (!remote) return remote;
    return base::fail(
        ErrorCode::kUsage,
        remote->empty()
            ? fmt::format("--diff {}: git has no commit of this name here; `git branch --all` and "
                          "`git tag` list the names",
                          base)
            : fmt::format(
                  "--diff {0}: git has no commit of this name here, but that of the remote: "
                  "use --diff origin/{0}",
                  base));
  }
  auto common = git.line({"merge-base", *commit, "HEAD"});
  if (!common || !common->empty()) return common;
  if (auto here = complete(git, base); !here) return tl::unexpected<base::Error>(here.error());
  return base::fail(
      ErrorCode::kUsage,
      fmt::format("--diff {}: its history has nothing in common with this one; name a "
                  "commit from which this branch began",
                  base));
}

// Whether git would have to fetch what a partial clone left out.
bool lacks_objects(const std::string& errors) {
  return errors.find("promisor") != std::string::npos ||
         errors.find("' not allowed") != std::string::npos;
}

}  // namespace

base::Result<ChangeSince> change_since(const std::string& folder, const std::string& base) {
  const auto top = Git(folder).ask({"rev-parse", "--show-toplevel"});
  if (!top) return tl::unexpected<base::Error>(top.error());
  if (!top->well()) return no_repository(folder, top->errors);
  ChangeSince change;
  std::string_view path = top->output;
  if (path.ends_with('\n')) path.remove_suffix(1);
  auto real = base::real_file_system().canonical(std::string(path));
  if (!real) return tl::unexpected<base::Error>(real.error());
  change.top = std::move(*real);
  const Git git(change.top);
  const auto from = merge_base(git, base);
  if (!from) return tl::unexpected<base::Error>(from.error());
  auto patch =
      git.ask({"diff", "--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff",
               "--no-textconv", "--text", "--find-renames", "--no-relative", "--src-prefix=a/",
               "--dst-prefix=b/", "--ignore-submodules=all", *from, "--"});
  if (!patch) return tl::unexpected<base::Error>(patch.error());
  auto added = git.ask({"ls-files", "--others", "--exclude-standard", "-z"});
  if (!added) return tl::unexpected<base::Error>(added.error());
  for (const base::Ended* ended : {&*patch, &*added}) {
    if (!ended->well() && lacks_objects(ended->errors))
      return base::fail(
          ErrorCode::kUsage,
          fmt::format("this partial clone lacks files of {0}, and torchport fetches nothing; "
                      "`git diff {0}... >/dev/null` fetches them",
                      base),
          change.top);
    if (!ended->well())
      return base::fail(ErrorCode::kUsage,
                        fmt::format("git cannot tell what has changed since {}: {}", base,
                                    base::trim(ended->errors)),
                        change.top);
  }
  change.patch = std::move(patch->output);
  change.added = std::move(added->output);
  return change;
}

}  // namespace torchport::cli
