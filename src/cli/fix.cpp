// Implements `torchport fix`.
#include "source/project/fix.h"

#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/git.h"
#include "cli/held_signals.h"
#include "cli/source_run.h"
#include "cli/terminal.h"
#include "source/project/undo.h"
#include "source/report/report.h"
#include "source/rules/registry.h"

namespace torchport::cli::fix_command {

namespace {

using report::counted;

constexpr std::string_view kStateFolder = ".torchport";
// They wait for the disk, so their number does not depend on the cores.
constexpr unsigned kWritingThreads = 8;

struct FixCommand {
  SelectionOptions selection;
  bool diff = false;
  bool unsafe_fixes = false;
  bool undo = false;
  bool allow_dirty = false;
};

int run_undo(const project::Config& config) {
  const HeldSignals held;
  auto undone = project::undo(base::real_file_system(), base::join_path(config.root, kStateFolder),
                              kWritingThreads);
  if (!undone) {
    print_error(undone.error());
    return kUsageError;
  }
  for (const base::Error& problem : undone->problems) print_error(problem);
  fmt::print("Restored {}.\n", counted(undone->restored.size(), "file"));
  return undone->problems.empty() ? kClean : kFindings;
}

std::string table(const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [code, n] : counts) {
    const rules::Rule* rule = rules::find_rule(code);
    text += fmt::format("{:>6}  {}  {}\n", n, code, rule == nullptr ? "" : rule->info.name);
  }
  return text;
}

// How many findings of a code are left, and the place of the first.
struct Left {
  std::size_t count = 0;
  std::string first;
};

std::string table(const std::map<std::string, Left>& left) {
  std::string text;
  for (const auto& [code, entry] : left) {
    const rules::Rule* rule = rules::find_rule(code);
    text += fmt::format("{:>6}  {}  {:<28} {}{}\n", entry.count, code,
                        rule == nullptr ? "" : rule->info.name, entry.first,
                        entry.count > 1 ? ", ..." : "");
  }
  return text;
}

// Says what is left, by reason.
std::string left_summary(const project::FixPlan& plan, bool unsafe_fixes) {
  std::map<std::string, Left> review;
  std::map<std::string, Left> by_hand;
  for (const project::Diagnostic& d : plan.left) {
    const bool fixable = d.has_fix && d.applicability != edit::Applicability::kDisplay;
    Left& entry = (fixable && !unsafe_fixes ? review : by_hand)[d.code];
    if (entry.count++ == 0) entry.first = fmt::format("{}:{}", d.path, d.line);
  }
  std::string text;
  if (!review.empty())
    text += "\nThese need your review; --unsafe-fixes applies their fixes:\n" + table(review);
  if (!by_hand.empty())
    text +=
        "\nChange these yourself, since the right change depends on what the code is for "
        "(`torchport check` shows each, `torchport explain CODE` says why):\n" +
        table(by_hand);
  return text;
}

void print_result(const project::FixPlan& plan, std::size_t written, bool diff, bool unsafe_fixes) {
  std::size_t fixes = 0;
  for (const auto& [code, n] : plan.fixed) fixes += n;
  FILE* out = diff ? stderr : stdout;
  if (fixes == 0 && plan.left.empty()) {
    fmt::print(out, "Nothing to fix in {}.\n", counted(plan.files, "file"));
    return;
  }
  if (fixes == 0)
    fmt::print(out, "Nothing here can be fixed automatically{}.\n",
               unsafe_fixes ? "" : " without a review");
  else
    fmt::print(out, "{} {} in {}.\n{}", diff ? "Would fix" : "Fixed", counted(fixes, "finding"),
               counted(written, "file"), table(plan.fixed));
  for (const project::Change& change : plan.changes) {
    if (change.created)
      fmt::print(out, "\nNew: {}, from which the fixed files of its package take the device.\n",
                 change.path);
  }
  fmt::print(out, "{}", left_summary(plan, unsafe_fixes));
  if (diff && fixes > 0)
    fmt::print(out, "\nNext: run it without --diff to write the change.\n");
  else if (written > 0)
    fmt::print(out,
               "\nNext: read the change (`git diff`) and run your tests; `torchport fix --undo` "
               "restores the files.\n");
}

// Whether all files lie inside of the roots, which edits must not leave.
bool inside_roots(const base::FileSystem& fs, const std::vector<std::string>& roots,
                  const std::string& file) {
  const auto real = fs.canonical(file);
  if (!real) return false;
  for (const std::string& root : roots) {
    const auto top = fs.canonical(root);
    if (top && (*real == *top || real->starts_with(*top == "/" ? *top : *top + "/"))) return true;
  }
  return false;
}

bool refuse_dirty(const SourceRun& run, const project::FixPlan& plan) {
  std::vector<std::string> files;
  files.reserve(plan.changes.size());
  for (const project::Change& change : plan.changes) files.push_back(change.path);
  const auto status = base::real_file_system().status(run.first_path, true);
  const std::string folder = status.type == base::FileType::kDirectory
                                 ? run.first_path
                                 : std::string(base::parent_path(run.first_path));
  const auto dirty = dirty_files(folder, files);
  if (!dirty) {
    print_error(dirty.error());
    fmt::print(stderr, "Nothing was written. --allow-dirty writes without asking git.\n");
    return true;
  }
  if (dirty->empty()) return false;
  fmt::print(stderr,
             "torchport: the git tree has uncommitted changes ({}{}); nothing was written.\n"
             "Commit or stash them first, or add --allow-dirty.\n",
             dirty->front(),
             dirty->size() > 1 ? fmt::format(" and {} more", dirty->size() - 1) : "");
  return true;
}

int run(const FixCommand& command) {
  auto source = start_source_run(command.selection, false);
  if (!source) {
    print_error(source.error());
    return kUsageError;
  }
  base::FileSystem& fs = base::real_file_system();
  if (command.undo) return run_undo(source->config);
  for (const base::Error& problem : source->problems) print_error(problem);
  if (source->files.empty() && !source->problems.empty()) return kUsageError;

  const bool unsafe_fixes = command.unsafe_fixes || source->config.unsafe_fixes;
  project::FixPlan plan =
      project::plan_fixes(fs, source->files, source->check,
                          unsafe_fixes ? edit::Applicability::kUnsafe : edit::Applicability::kSafe);
  clear_progress_line();
  if (interrupted()) {
    fmt::print(stderr, "Interrupted: nothing was written.\n");
    return 130;
  }
  std::vector<std::string> roots = command.selection.paths;
  if (roots.empty()) roots.emplace_back(".");
  std::erase_if(plan.changes, [&](const project::Change& change) {
    const std::string place =
        change.created ? std::string(base::parent_path(change.path)) : change.path;
    if (inside_roots(fs, roots, place)) return false;
    plan.problems.push_back({base::ErrorCode::kUsage,
                             "is outside of the given paths, so it was not edited", change.path,
                             0});
    return true;
  });
  const std::string state = base::join_path(source->config.root, kStateFolder);
  std::size_t written = plan.changes.size();
  if (!command.diff && plan.changes.empty()) project::sweep(fs, state);
  if (command.diff) {
    for (const project::Change& change : plan.changes) {
      const std::string text = project::unified_diff(change);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  } else if (!plan.changes.empty()) {
    if (!command.allow_dirty && refuse_dirty(*source, plan)) return kUsageError;
    const HeldSignals held;
    auto result = project::write_changes(fs, state, plan.changes, kWritingThreads);
    if (!result) {
      print_error(result.error());
      return kInternalError;
    }
    written = result->files.size();
    plan.problems.insert(plan.problems.end(), result->problems.begin(), result->problems.end());
  }
  for (const base::Error& problem : plan.problems) print_error(problem);
  std::fflush(stdout);
  print_result(plan, written, command.diff, unsafe_fixes);
  return plan.left.empty() && plan.problems.empty() ? kClean : kFindings;
}

void attach(CLI::App& app) {
  auto command = std::make_shared<FixCommand>();
  CLI::App* sub = app.add_subcommand("fix", "Fix what check finds, and keep the formatting");
  add_selection_options(*sub, command->selection);
  sub->add_flag("--diff", command->diff, "Print the change as a patch and write nothing");
  sub->add_flag("--unsafe-fixes", command->unsafe_fixes, "Also apply fixes that need a review");
  sub->add_flag("--allow-dirty", command->allow_dirty,
                "Write even if the git tree has uncommitted changes");
  sub->add_flag("--undo", command->undo, "Restore the files that the last fix changed");
  sub->callback([command] { set_exit_code(run(*command)); });
}

const CommandRegistration kRegistered{{.order = 2, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::fix_command
