// Implements `torchport fix`.
#include "source/project/fix.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/tell.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/fix_history.h"
#include "cli/git.h"
#include "cli/held_signals.h"
#include "cli/source_run.h"
#include "cli/terminal.h"
#include "source/project/journal.h"
#include "source/project/undo.h"
#include "source/report/report.h"
#include "source/rules/registry.h"

namespace torchport::cli::fix_command {

namespace {

using report::counted;

// They wait for the disk, so their number does not depend on the cores.
constexpr unsigned kWritingThreads = 8;

struct FixCommand {
  SelectionOptions selection;
  bool diff = false;
  bool unsafe_fixes = false;
  bool undo = false;
  bool allow_dirty = false;
  bool skip_edited = false;
};

// Earlier versions kept a journal in the tree. One that lies there may be anybody's, so that it is
// not read.
void tell_of_foreign_journal(const project::Config& config) {
  const std::string path = base::join_path(config.root, ".torchport/undo.cbor");
  if (base::real_file_system().status(path, false).type != base::FileType::kMissing)
    base::tell(
        "torchport: {}: a journal that lies in the tree is not read, because it may have come "
        "with the tree\n",
        report::one_line(path));
}

// The history whose last run is the latest, and how many runs of this tree can be undone.
struct LatestRun {
  TreeHistory of;
  std::optional<project::Journal> journal;  // none if nothing can be undone
  std::size_t runs = 0;
};

LatestRun latest_run(const FixHistory& history) {
  const base::FileSystem& fs = base::real_file_system();
  const auto histories = history.related();
  LatestRun latest{histories.front(), {}, 0};
  std::int64_t newest = 0;
  for (const TreeHistory& one : histories) {
    const auto journals = project::journals_of(fs, one.state);
    if (journals.empty()) continue;
    if (base::is_within(one.tree, history.tree())) latest.runs += journals.size();
    const std::int64_t written = fs.status(journals.back().path, false).mtime_ns;
    if (latest.journal && written <= newest) continue;
    latest.of = one;
    latest.journal = journals.back();
    newest = written;
  }
  return latest;
}

// Whether a run of a tree around this one has changed files outside of it.
bool reaches_further(const LatestRun& latest, const std::string& tree) {
  if (!latest.journal || base::is_within(latest.of.tree, tree)) return false;
  const auto entries = project::read_journal(base::real_file_system(), *latest.journal);
  return entries && std::any_of(entries->begin(), entries->end(), [&](const auto& entry) {
           return !base::is_within(entry.path, tree);
         });
}

// A moved tree has lost its history, because the journals name files by their whole paths.
void tell_of_moved_trees(const FixHistory& history) {
  constexpr std::size_t kMostTold = 3;
  std::vector<TreeHistory> gone = history.gone();
  std::erase_if(gone, [](const TreeHistory& one) {
    return project::journals_of(base::real_file_system(), one.state).empty();
  });
  if (gone.empty()) return;
  std::string places;
  for (std::size_t i = 0; i < std::min(gone.size(), kMostTold); ++i)
    places += fmt::format("  {}\n", report::one_line(gone[i].tree));
  base::tell(
      "torchport: if this folder was moved or renamed, move it back for `fix --undo`; {} of "
      "folders that are gone:\n{}",
      counted(gone.size(), "history", "histories"), places);
}

int run_undo(const project::Config& config, const FixCommand& command) {
  const auto history = FixHistory::of_tree(tree_of(config.root, command.selection.paths));
  if (!history) {
    print_error(history.error());
    return kUsageError;
  }
  tell_of_foreign_journal(config);
  const LatestRun latest = latest_run(*history);
  if (reaches_further(latest, history->tree())) {
    base::tell(
        "torchport: the last fix here also changed files outside of {}; this restores all of "
        "them:\n  torchport fix --undo {}\n",
        report::one_line(history->tree()), report::one_line(latest.of.tree));
    return kUsageError;
  }
  if (!latest.journal) tell_of_moved_trees(*history);
  const HeldSignals held;
  auto undone = project::undo(base::real_file_system(), latest.of.state, kWritingThreads,
                              command.skip_edited);
  if (!undone) {
    print_error(undone.error());
    return kUsageError;
  }
  for (const base::Error& problem : undone->problems) print_error(problem);
  for (const base::Error& note : undone->notes) print_error(note);
  fmt::print("Restored {}.\n", counted(undone->restored.size(), "file"));
  if (!undone->problems.empty())
    fmt::print(
        "{} could not be restored; once that is mended, `torchport fix --undo` goes on{}.\n",
        counted(undone->problems.size(), "file"),
        undone->edited > 0 ? ", or with --skip-edited, which leaves edited files as they are" : "");
  else if (latest.runs > 1)
    fmt::print("{} here can be undone, too: run it again.\n",
               counted(latest.runs - 1, "earlier fix", "earlier fixes"));
  return undone->problems.empty() ? kClean : kFindings;
}

// Brings runs that were killed half way to their beginning. Returns whether files are other ones
// now.
base::Result<bool> roll_back(const FixHistory& history) {
  const HeldSignals held;
  std::size_t restored = 0;
  for (const TreeHistory& one : history.related()) {
    auto undone = project::recover(base::real_file_system(), one.state, kWritingThreads);
    if (!undone) return tl::unexpected<base::Error>(undone.error());
    for (const base::Error& problem : undone->problems) print_error(problem);
    for (const base::Error& note : undone->notes) print_error(note);
    restored += undone->restored.size();
  }
  if (restored > 0)
    base::tell("torchport: an earlier fix was stopped half way; its {} restored first\n",
               restored == 1 ? "file was" : fmt::format("{} files were", restored));
  return restored > 0;
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
    if (entry.count++ == 0) entry.first = fmt::format("{}:{}", report::one_line(d.path), d.line);
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

// `written` are the files that have their new content, or would have it.
void print_result(const project::FixPlan& plan, const std::set<std::string>& written, bool diff,
                  bool unsafe_fixes) {
  std::size_t fixes = 0;
  std::map<std::string, std::size_t> by_code;
  for (const project::Change& change : plan.changes) {
    if (!written.contains(change.path)) continue;
    for (const auto& [code, n] : change.fixed) {
      by_code[code] += n;
      fixes += n;
    }
  }
  FILE* out = diff ? stderr : stdout;
  if (written.size() < plan.changes.size())
    fmt::print(out, "{} could not be written: what was found there is still there.\n",
               counted(plan.changes.size() - written.size(), "file"));
  if (fixes == 0 && plan.left.empty() && plan.changes.empty()) {
    fmt::print(out, "Nothing to fix in {}.\n", counted(plan.files, "file"));
    return;
  }
  if (fixes == 0 && !plan.changes.empty() && written.empty())
    fmt::print(out, "Nothing was fixed.\n");
  else if (fixes == 0)
    fmt::print(out, "Nothing here can be fixed automatically{}.\n",
               unsafe_fixes ? "" : " without a review");
  else
    fmt::print(out, "{} {} in {}.\n{}", diff ? "Would fix" : "Fixed", counted(fixes, "finding"),
               counted(written.size(), "file"), table(by_code));
  for (const project::Change& change : plan.changes) {
    if (change.created && written.contains(change.path))
      fmt::print(out, "\nNew: {}, from which the fixed files of its package take the device.\n",
                 report::one_line(change.path));
  }
  fmt::print(out, "{}", left_summary(plan, unsafe_fixes));
  if (diff && fixes > 0)
    fmt::print(out, "\nNext: run it without --diff to write the change.\n");
  else if (!written.empty())
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
    if (top && base::is_within(*real, *top)) return true;
  }
  return false;
}

// A given path that leads out of the current folder by a link, and not by its own words: the link
// may have come with the project. Empty if there is none.
std::string path_through_link(const std::vector<std::string>& paths) {
  const base::FileSystem& fs = base::real_file_system();
  const auto here = fs.canonical(".");
  for (const std::string& path : paths) {
    const auto parts = base::split(path, '/');
    if (!here || path.starts_with('/') ||
        std::find(parts.begin(), parts.end(), "..") != parts.end())
      continue;
    const auto real = fs.canonical(path);
    if (real && !base::is_within(*real, *here)) return path;
  }
  return {};
}

bool refuse_links(const std::vector<std::string>& paths) {
  const std::string path = path_through_link(paths);
  if (path.empty()) return false;
  print_error(
      {base::ErrorCode::kUsage,
       fmt::format("is a link, or behind one, that leads out of this folder; name the place "
                   "itself: {}",
                   report::one_line(base::real_file_system().canonical(path).value_or(path))),
       path, 0});
  return true;
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
    base::tell("Nothing was written. --allow-dirty writes without asking git.\n");
    return true;
  }
  if (dirty->empty()) return false;
  base::tell(
      "torchport: the git tree has uncommitted changes ({}{}); nothing was written.\n"
      "Commit or stash them first, or add --allow-dirty.\n",
      report::one_line(dirty->front()),
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
  if (command.undo) return run_undo(source->config, command);
  std::optional<FixHistory> history;
  if (!command.diff) {
    if (refuse_links(command.selection.paths)) return kUsageError;
    auto mine = FixHistory::of_tree(tree_of(source->config.root, command.selection.paths));
    if (!mine) {
      print_error(mine.error());
      return kUsageError;
    }
    history.emplace(std::move(*mine));
    const auto changed = roll_back(*history);
    if (!changed) {
      print_error(changed.error());
      return kUsageError;
    }
    if (*changed) source = start_source_run(command.selection, false);
    if (!source) {
      print_error(source.error());
      return kUsageError;
    }
  }
  for (const base::Error& problem : source->problems) print_error(problem);
  if (source->files.empty() && !source->problems.empty()) return kUsageError;

  const bool unsafe_fixes = command.unsafe_fixes || source->config.unsafe_fixes;
  project::FixPlan plan =
      project::plan_fixes(fs, source->files, source->check,
                          unsafe_fixes ? edit::Applicability::kUnsafe : edit::Applicability::kSafe);
  clear_progress_line();
  if (interrupted()) {
    base::tell("Interrupted: nothing was written.\n");
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
  std::set<std::string> written;
  for (const project::Change& change : plan.changes) written.insert(change.path);
  if (command.diff) {
    for (const project::Change& change : plan.changes) {
      const std::string text = project::unified_diff(change);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  } else if (!plan.changes.empty()) {
    if (!command.allow_dirty && refuse_dirty(*source, plan)) return kUsageError;
    const HeldSignals held;
    auto result = project::write_changes(fs, history->state(), plan.changes, kWritingThreads);
    if (!result) {
      print_error(result.error());
      return kInternalError;
    }
    written = {result->files.begin(), result->files.end()};
    for (const base::Error& note : result->notes) print_error(note);
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
  CLI::Option* undo =
      sub->add_flag("--undo", command->undo, "Restore the files that the last fix changed");
  sub->add_flag("--skip-edited", command->skip_edited,
                "With --undo: leave files that were edited since as they are")
      ->needs(undo);
  sub->callback([command] { set_exit_code(run(*command)); });
}

const CommandRegistration kRegistered{{.order = 2, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::fix_command
