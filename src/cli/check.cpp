// Implements `torchport check`.
#include <chrono>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/tell.h"
#include "cli/command.h"
#include "cli/git.h"
#include "cli/source_run.h"
#include "cli/terminal.h"
#include "cli/until_exit.h"
#include "source/project/baseline.h"
#include "source/project/changed_lines.h"
#include "source/report/report.h"

namespace torchport::cli::check_command {

namespace {

struct CheckCommand {
  SelectionOptions selection;
  std::string format = "text";
  std::string output;
  std::string baseline;
  std::string diff;
  bool statistics = false;
  bool exit_zero = false;
};

std::string format_names() {
  std::string names;
  for (const report::Format& format : report::all_formats())
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

std::string folder_of(const std::string& path) {
  const auto status = base::real_file_system().status(path, true);
  return status.type == base::FileType::kDirectory ? path : std::string(base::parent_path(path));
}

project::ChangedLines changed_lines(const ChangeSince& change) {
  project::ChangedLines lines;
  lines.add_patch(change.patch);
  for (const std::string_view path : base::split(change.added, '\0'))
    if (!path.empty()) lines.add_file(std::string(path));
  return lines;
}

int run(const CheckCommand& command) {
  const report::Format* format = report::find_format(command.format);
  if (format == nullptr) {
    print_error({base::ErrorCode::kUsage,
                 fmt::format("--format {} is not a report format; it is one of {}", command.format,
                             format_names()),
                 {},
                 0});
    return kUsageError;
  }
  const auto& source = until_exit(start_source_run(command.selection, true));
  if (!source) {
    print_error(source.error());
    return source.error().code == base::ErrorCode::kInternal ? kInternalError : kUsageError;
  }
  // Asked first: a wrong revision must not cost the time of a check.
  std::optional<ChangeSince> change;
  if (!command.diff.empty()) {
    auto asked = change_since(folder_of(source->first_path), command.diff);
    if (!asked) {
      print_error(asked.error());
      return kUsageError;
    }
    change = std::move(*asked);
  }
  const auto start = std::chrono::steady_clock::now();
  auto& report =
      until_exit(project::check_files(base::real_file_system(), source->files, source->check));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  clear_progress_line();
  if (source->cache) source->cache->store();
  report.problems.insert(report.problems.begin(), source->problems.begin(), source->problems.end());

  std::size_t known = 0;
  if (!command.baseline.empty()) {
    auto applied = project::apply_baseline(base::real_file_system(), command.baseline,
                                           source->config.root, report);
    if (!applied) {
      print_error(applied.error());
      return kUsageError;
    }
    known = applied->known;
    if (applied->written)
      base::tell("Wrote {} findings to {}; from now on only new findings count.\n", applied->known,
                 command.baseline);
  }
  std::size_t outside = 0;
  if (change) {
    outside = project::keep_changed(report, changed_lines(*change), base::real_file_system(),
                                    change->top);
  }
  report::Input input{report,
                      base::real_file_system(),
                      source->check,
                      TORCHPORT_VERSION,
                      command.output.empty() && wants_colour(STDOUT_FILENO),
                      command.statistics,
                      known,
                      seconds.count(),
                      command.diff,
                      outside};
  const std::string text = format->render(input);
  if (command.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else if (auto done = base::real_file_system().write_atomic(command.output, text, 0644); !done) {
    print_error(done.error());
    return kInternalError;
  }
  if (report.cancelled) return 130;
  const bool missing = !source->problems.empty();
  if (missing && report.files == 0) return kUsageError;
  return (report.diagnostics.empty() && report.problems.empty()) || command.exit_zero ? kClean
                                                                                      : kFindings;
}

void attach(CLI::App& app) {
  auto command = std::make_shared<CheckCommand>();
  CLI::App* sub = app.add_subcommand(
      "check", "Find what ties code to one device, and mixed devices as far as reading shows them");
  add_selection_options(*sub, command->selection);
  sub->add_option("--package", command->selection.package,
                  "Check an installed package by its import name")
      ->type_name("NAME");
  sub->add_option("--format", command->format, "Report format: " + format_names())
      ->type_name("NAME");
  sub->add_option("-o,--output", command->output, "Write the report to this file")
      ->type_name("FILE");
  sub->add_option(
         "--baseline", command->baseline,
         "Write today's findings to this file, or report only findings that it does not have")
      ->type_name("FILE");
  sub->add_option(
         "--diff", command->diff,
         "Report only what the change since this commit touches: since the branch left it, "
         "with uncommitted changes")
      ->type_name("BASE");
  sub->add_flag("--statistics", command->statistics,
                "Print counts by rule instead of the findings");
  sub->add_flag("--exit-zero", command->exit_zero, "Exit with 0 even if there are findings");
  sub->callback([command] { set_exit_code(run(*command)); });
}

const CommandRegistration kRegistered{{.order = 1, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::check_command
