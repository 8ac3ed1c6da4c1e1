// Implements `torchport container`: the files that make a container of a project.
#include "scaffold/container.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "cli/command.h"
#include "cli/scaffolding.h"
#include "cli/terminal.h"
#include "scaffold/device_target.h"

namespace torchport::cli::container_command {

namespace {

struct Options {
  ScaffoldOptions common;
  std::string output;
  std::string entry;
};

// Splits a command into words as a shell does: quotes keep blanks together.
base::Result<std::vector<std::string>> words_of(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (const char c : command) {
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0')
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("--entry {}: a quote is not closed", command));
  if (in_word) words.push_back(word);
  return words;
}

// The command that the container runs: "train.py --epochs 3", "-m pkg.train", a console script. If
// the user names none, the only console script.
base::Result<std::vector<std::string>> entry_of(const Options& options,
                                                const scaffold::Project& project,
                                                std::vector<std::string>& notes) {
  auto words = words_of(options.entry);
  if (!words) return words;
  if (words->empty() && project.scripts.size() == 1) return std::vector{project.scripts.front()};
  if (words->empty()) {
    notes.push_back(
        project.scripts.empty()
            ? "nothing says what the container runs, so it starts Python: give --entry \"train.py "
              "--epochs 3\", --entry \"-m package\" or a console script"
            : fmt::format("the project has several console scripts ({}): choose one with --entry",
                          fmt::join(project.scripts, ", ")));
    return words;
  }
  const std::string first = words->front();
  if (first.ends_with(".py") && !is_file(base::join_path(options.common.project, first)))
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("--entry {}: the project does not contain this file", first));
  if (first.ends_with(".py") || first.starts_with('-')) words->insert(words->begin(), "python");
  return words;
}

// Computes the project's folder relative to that of the files, and the other way round.
base::Result<void> relate(const std::string& project, const std::string& output,
                          scaffold::ContainerOptions& container) {
  std::error_code error;
  const auto resolved = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  const auto inner = resolved(output).lexically_relative(resolved(project)).generic_string();
  if (error || inner.empty() || inner.starts_with(".."))
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("--output {} is outside of the project {}", output, project));
  container.context = resolved(project).lexically_relative(resolved(output)).generic_string();
  container.dockerfile = inner == "." ? "Dockerfile" : inner + "/Dockerfile";
  return check_plain("--output", container.dockerfile);
}

void print_target(const ScaffoldOptions& options, const scaffold::Project& project,
                  const scaffold::Target& target) {
  print_choice(options, "torch",
               fmt::format("{}+{}, for {}", target.torch, target.variant, target.device->name));
  print_choice(options, "Python", target.python);
  print_choice(options, "image", target.images.runtime);
  if (project.extension)
    print_choice(options, "extension",
                 fmt::format("{}:{}, built in {}{}{}", project.extension->file,
                             project.extension->line, target.images.build,
                             target.images.toolkit.empty() ? "" : " with the toolkit of ",
                             target.images.toolkit));
  print_choice(options, "for GPUs", target.arch_list);
}

base::Result<void> container(Options& options) {
  ScaffoldOptions& common = options.common;
  if (auto checked = check_scaffold_options(common); !checked) return checked;
  const auto project =
      scaffold::read_project(base::real_file_system(), common.project, common.requirements);
  if (!project) return tl::unexpected<base::Error>(project.error());
  const auto target = scaffold::choose_target(*project, common.target);
  if (!target) return tl::unexpected<base::Error>(target.error());

  const std::string output = options.output.empty() ? common.project : options.output;
  std::vector<std::string> notes;
  scaffold::ContainerOptions container;
  container.version = TORCHPORT_VERSION;
  container.requirement_files = common.requirements;
  if (common.torchport == "none") {
    notes.emplace_back("the image does not contain torchport, so it has no health check");
  } else {
    auto source = torchport_source(common, notes);
    if (!source) return tl::unexpected<base::Error>(source.error());
    container.torchport = std::move(*source);
  }
  auto entry = entry_of(options, *project, notes);
  if (!entry) return tl::unexpected<base::Error>(entry.error());
  container.entry = std::move(*entry);
  const bool script =
      container.entry.size() > 1 && is_file(base::join_path(common.project, container.entry[1]));
  container.copy_sources = script || !project->installable;
  if (auto related = relate(common.project, output, container); !related) return related;

  // Docker looks for an ignore file under the Dockerfile's own name if the Dockerfile is not in the
  // context's folder.
  const bool own = container.context == ".";
  auto put = put_files(
      {{base::join_path(output, "Dockerfile"), dockerfile(*project, *target, container)},
       {base::join_path(output, "compose.yaml"), compose_file(*project, *target, container)},
       {base::join_path(output, own ? ".dockerignore" : "Dockerfile.dockerignore"),
        ignore_file(container)}},
      common);
  if (!put) return put;
  print_target(common, *project, *target);
  print_notes(common, {&project->doubts, &target->notes, &notes});
  return {};
}

void attach(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "container",
      "Write a Dockerfile and a compose file that run a project on one kind of device");
  const std::vector<std::string> devices = scaffold::device_names();
  sub->add_option("--device", options->common.target.device,
                  fmt::format("The device that the project runs on, one of {} (default: {})",
                              fmt::join(devices, ", "), options->common.target.device))
      ->type_name("DEVICE")
      ->check(CLI::IsMember(devices));
  add_scaffold_options(*sub, options->common);
  sub->add_option("--output", options->output,
                  "The folder to write to (default: the project's folder)")
      ->type_name("DIR");
  sub->add_option("--variant", options->common.target.variant,
                  "The build of torch, by the name of its index, e.g. cu126, rocm7.2")
      ->type_name("NAME");
  sub->add_option(
         "--arch-list", options->common.target.arch_list,
         "The GPUs that CUDA code is compiled for, e.g. \"8.0;9.0+PTX\" (default: those of torch)")
      ->type_name("LIST");
  sub->add_option("--entry", options->entry,
                  "What the container runs: \"train.py --epochs 3\", \"-m package\", a script")
      ->type_name("COMMAND");
  sub->footer(
      "\nThe health check needs torchport in the image; --torchport none leaves both out.\n"
      "Exit codes: 0 written; 2 wrong use, or an option is needed because the project does not say "
      "enough.");
  sub->callback([options] {
    const auto done = container(*options);
    if (!done) print_error(done.error());
    set_exit_code(done ? kClean : kUsageError);
  });
}

const CommandRegistration kContainer{{.order = 16, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::container_command
