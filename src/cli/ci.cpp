// Implements `torchport ci`: a workflow that tests a project on every device, and a hook for
// commits.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "cli/command.h"
#include "cli/git.h"
#include "cli/scaffolding.h"
#include "cli/terminal.h"
#include "releases/table.h"
#include "scaffold/workflow.h"

namespace torchport::cli::ci_command {

namespace {

struct Options {
  ScaffoldOptions common;
  std::string provider = "github";
};

base::Result<void> check_virtual_devices(const std::string& torch) {
  const auto supported = releases::runtime_versions();
  if (std::find(supported.begin(), supported.end(), torch) != supported.end()) return {};
  return base::fail(
      base::ErrorCode::kUsage,
      fmt::format(
          "virtual devices do not support torch {}, only {}: name one of these with --torch", torch,
          fmt::join(supported, ", ")));
}

base::Result<void> ci(const Options& options) {
  const ScaffoldOptions& common = options.common;
  if (auto checked = check_scaffold_options(common); !checked) return checked;
  base::FileSystem& fs = base::real_file_system();
  const auto project = scaffold::read_project(fs, common.project, common.requirements);
  if (!project) return tl::unexpected<base::Error>(project.error());
  scaffold::TargetOptions wanted = common.target;
  wanted.virtual_devices = true;
  const auto target = scaffold::choose_target(*project, wanted);
  if (!target) return tl::unexpected<base::Error>(target.error());
  if (auto checked = check_virtual_devices(target->torch); !checked) return checked;
  std::vector<std::string> notes;
  auto source = torchport_source(common, notes);
  if (!source) return tl::unexpected<base::Error>(source.error());
  if (source->ends_with(".whl") && is_ignored(common.project, *source))
    notes.push_back(fmt::format(
        "git ignores {0}, so the workflow would not find it: git add --force {0}", *source));
  scaffold::WorkflowOptions workflow;
  workflow.version = TORCHPORT_VERSION;
  workflow.torchport = std::move(*source);
  workflow.branch = scaffold::default_branch(fs, common.project);
  workflow.requirement_files = common.requirements;
  if (workflow.branch.empty())
    notes.emplace_back(".git does not name a default branch: the workflow tests every push");

  if (!project->tests)
    notes.emplace_back(
        "pytest would find no test (test_*.py, *_test.py): the workflow only checks; write it anew "
        "when there are tests: torchport ci --force");

  std::vector<scaffold::File> files{
      {base::join_path(common.project, ".github/workflows/torchport.yml"),
       github_workflow(*project, *target, workflow)}};
  // An existing list of hooks belongs to the project.
  const std::string hooks = base::join_path(common.project, ".pre-commit-config.yaml");
  const std::string config = pre_commit_config(workflow);
  const auto there = fs.read(hooks);
  bool kept = false;
  if (fs.status(hooks, false).type == base::FileType::kMissing || (there && *there == config))
    files.push_back({hooks, config});
  else
    kept = true;
  if (auto put = put_files(files, common); !put) return put;
  print_choice(common, "torch", fmt::format("{}+{}", target->torch, target->variant));
  print_choice(common, "Python", target->python);
  print_notes(common, {&project->doubts, &target->notes, &notes});
  if (kept)
    fmt::print(common.only_show ? stderr : stdout, "{} was not changed; add this to its repos:\n{}",
               hooks, config.substr(config.find("  - repo:")));
  return {};
}

void attach(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "ci",
      "Write a workflow that tests a project on the CPU, on virtual devices and without CUDA");
  sub->add_option("--provider", options->provider, "The provider to write for: github")
      ->type_name("NAME")
      ->check(CLI::IsMember({"github"}));
  add_scaffold_options(*sub, options->common);
  sub->footer(
      "\nWrites .github/workflows/torchport.yml and, if there is none yet, "
      ".pre-commit-config.yaml.\n"
      "Exit codes: 0 written; 2 wrong use, or an option is needed because the project does not say "
      "enough.");
  sub->callback([options] {
    const auto done = ci(*options);
    if (!done) print_error(done.error());
    set_exit_code(done ? kClean : kUsageError);
  });
}

const CommandRegistration kCi{{.order = 17, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::ci_command
