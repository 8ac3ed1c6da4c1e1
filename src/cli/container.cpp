// torchport container: the files that make a container of a project.
#include "scaffold/container.h"

#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/session.h"
#include "report/report.h"

namespace torchport::cli {

namespace {

struct Options {
  std::string project = ".";
  std::string device = "cpu";
  std::string output;
  std::string entry;
  std::string torchport;
  std::vector<std::string> requirements;
  scaffold::TargetOptions target;
  bool force = false;
  bool only_show = false;
};

base::Result<void> usage(std::string message) {
  return base::fail(base::ErrorCode::kUsage, std::move(message));
}

// Text that stands in the files as it is: none that could end a line or a word there.
base::Result<void> check_plain(std::string_view option, std::string_view text) {
  for (const char c : text)
    if (!base::is_identifier_char(c) &&
        std::string_view("-./+;= ").find(c) == std::string_view::npos)
      return usage(fmt::format("{} {}: only letters, digits and - _ . / + ; = can stand there",
                               option, report::one_line(text)));
  return {};
}

base::Result<void> check_options(const Options& options) {
  for (const auto& [name, text] : {std::pair("--torch", &options.target.torch),
                                   std::pair("--variant", &options.target.variant),
                                   std::pair("--python", &options.target.python),
                                   std::pair("--arch-list", &options.target.arch_list),
                                   std::pair("--torchport", &options.torchport)})
    if (auto plain = check_plain(name, *text); !plain) return plain;
  const auto parts = [](const std::string& text) {
    return text.empty() ? std::size_t{0} : base::split(text, '.').size();
  };
  if (const auto n = parts(options.target.torch);
      n != 0 && (n != 3 || options.target.torch.find('+') != std::string::npos))
    return usage(fmt::format("--torch {} is no release: write 2.13.0, and the build as --variant",
                             options.target.torch));
  if (const auto n = parts(options.target.python); n != 0 && n != 2)
    return usage(fmt::format("--python {} is no release: write 3.12", options.target.python));
  return {};
}

bool is_file(const std::string& project, const std::string& name) {
  return base::real_file_system().status(base::join_path(project, name), true).type ==
         base::FileType::kRegular;
}

// "train.py --epochs 3", "-m pkg.train", a console script; where nothing is told, the only script.
std::vector<std::string> entry_of(const Options& options, const scaffold::Project& project,
                                  std::vector<std::string>& notes) {
  std::vector<std::string> words;
  for (const std::string_view word : base::split(options.entry, ' '))
    if (!word.empty()) words.emplace_back(word);
  if (words.empty() && project.scripts.size() == 1) return {project.scripts.front()};
  if (words.empty()) {
    notes.push_back(project.scripts.empty()
                        ? "what the container runs is told nowhere: it starts Python; give --entry "
                          "\"train.py --epochs 3\", --entry \"-m package\" or a console script"
                        : fmt::format("the project has several console scripts ({}): give --entry",
                                      fmt::join(project.scripts, ", ")));
    return {};
  }
  if (words.front().ends_with(".py") || words.front().starts_with("-"))
    words.insert(words.begin(), "python");
  return words;
}

// A wheel in the project counts before the release of this very version.
std::string torchport_of(const Options& options, std::vector<std::string>& notes) {
  if (options.torchport == "none") {
    notes.emplace_back("without torchport in it the image has no health check");
    return {};
  }
  if (!options.torchport.empty()) return options.torchport;
  for (const char* folder : {"", "wheels", "dist"}) {
    const auto entries = base::real_file_system().list(base::join_path(options.project, folder));
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries)
      if (entry.name.starts_with("torchport-") && entry.name.ends_with(".whl"))
        return *folder == '\0' ? entry.name : base::join_path(folder, entry.name);
  }
  notes.push_back(
      fmt::format("the health check needs torchport in the image: pip has to find torchport=={0} "
                  "there; give --torchport wheels/torchport-{0}-....whl for a wheel within the "
                  "project, or --torchport none",
                  TORCHPORT_VERSION));
  return fmt::format("torchport=={}", TORCHPORT_VERSION);
}

// The project's folder as seen from that of the files, and the other way round.
base::Result<void> relate(const Options& options, const std::string& output,
                          scaffold::ContainerOptions& container) {
  std::error_code error;
  const auto project = std::filesystem::weakly_canonical(options.project, error);
  const auto folder = std::filesystem::weakly_canonical(output, error);
  const auto inner = folder.lexically_relative(project).generic_string();
  if (error || inner.empty() || inner.starts_with(".."))
    return usage(
        fmt::format("--output {} lies outside of the project {}", output, options.project));
  container.context = project.lexically_relative(folder).generic_string();
  container.dockerfile = inner == "." ? "Dockerfile" : inner + "/Dockerfile";
  return check_plain("--output", container.dockerfile);
}

void print_notes(std::FILE* to, const scaffold::Project& project, const scaffold::Target& target,
                 const std::vector<std::string>& notes) {
  const auto row = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) fmt::print(to, "  {:<12} {}\n", name, report::one_line(value));
  };
  row("torch", fmt::format("{}+{}, for {}", target.torch, target.variant, to_text(target.device)));
  row("Python", target.python);
  row("image", target.images.runtime);
  if (project.extension)
    row("extension",
        fmt::format("{}:{}, built in {}", project.extension->file, project.extension->line,
                    target.images.build + (target.images.toolkit.empty()
                                               ? ""
                                               : " with the toolkit of " + target.images.toolkit)));
  row("for GPUs", target.arch_list);
  for (const auto* list : {&project.doubts, &target.notes, &notes})
    for (const std::string& note : *list) fmt::print(to, "  note: {}\n", report::one_line(note));
}

base::Result<void> container(Options& options) {
  if (auto checked = check_options(options); !checked) return checked;
  options.target.device = *scaffold::parse_device(options.device);
  base::FileSystem& fs = base::real_file_system();
  const auto project = scaffold::read_project(fs, options.project, options.requirements);
  if (!project) return tl::unexpected<base::Error>(project.error());
  const auto target = scaffold::choose_target(*project, options.target);
  if (!target) return tl::unexpected<base::Error>(target.error());

  const std::string output = options.output.empty() ? options.project : options.output;
  std::vector<std::string> notes;
  scaffold::ContainerOptions container;
  container.version = TORCHPORT_VERSION;
  container.requirement_files = options.requirements;
  container.torchport = torchport_of(options, notes);
  container.entry = entry_of(options, *project, notes);
  const bool script = container.entry.size() > 1 && is_file(options.project, container.entry[1]);
  container.copy_sources = script || !project->installable;
  if (auto related = relate(options, output, container); !related) return related;
  if (container.torchport.ends_with(".whl") && !is_file(options.project, container.torchport))
    return usage(fmt::format("--torchport {} is no file within the project", container.torchport));

  // Beside a Dockerfile that is not the context's own, its list of what is left out has its name.
  const bool own = container.context == ".";
  const std::vector<scaffold::File> files{
      {base::join_path(output, "Dockerfile"), dockerfile(*project, *target, container)},
      {base::join_path(output, "compose.yaml"), compose_file(*project, *target, container)},
      {base::join_path(output, own ? ".dockerignore" : "Dockerfile.dockerignore"),
       ignore_file(container)}};
  if (options.only_show) {
    for (const scaffold::File& file : files)
      fmt::print("==> {} <==\n{}\n", report::one_line(file.path), file.content);
    print_notes(stderr, *project, *target, notes);
    return {};
  }
  const auto written = scaffold::write_files(fs, files, options.force);
  if (!written) return tl::unexpected<base::Error>(written.error());
  for (std::size_t i = 0; i < files.size(); ++i)
    fmt::print("{} {}\n", to_text((*written)[i]), report::one_line(files[i].path));
  print_notes(stdout, *project, *target, notes);
  return {};
}

void attach(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "container",
      "Write a Dockerfile and a compose file for a project, for the device it goes to");
  sub->add_option("project", options->project, "The project's folder (the current one)")
      ->type_name("PROJECT");
  sub->add_option("--device", options->device, "What it is to run on: cpu, cuda, rocm or xpu (cpu)")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu", "cuda", "rocm", "xpu"}));
  sub->add_option("--output", options->output, "The folder of the files (the project's)")
      ->type_name("DIR");
  sub->add_option("--torch", options->target.torch, "The version of torch, e.g. 2.13.0")
      ->type_name("VERSION");
  sub->add_option("--variant", options->target.variant,
                  "The build of torch, as its index is named, e.g. cu126, rocm7.2")
      ->type_name("NAME");
  sub->add_option("--python", options->target.python, "The release of Python, e.g. 3.12")
      ->type_name("VERSION");
  sub->add_option("--arch-list", options->target.arch_list,
                  "What CUDA code is compiled for, e.g. \"8.0;9.0+PTX\" (what torch is)")
      ->type_name("LIST");
  sub->add_option("--requirements", options->requirements,
                  "A requirements file of the project (requirements.txt); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  sub->add_option("--entry", options->entry,
                  "What the container runs: \"train.py --epochs 3\", \"-m package\", a script")
      ->type_name("COMMAND");
  sub->add_option("--torchport", options->torchport,
                  "Where the image gets torchport from, for its health check: a wheel within the "
                  "project, a requirement, or none")
      ->type_name("WHERE");
  sub->add_flag("--force", options->force, "Write over files that are there");
  sub->add_flag("--stdout,--dry-run", options->only_show, "Show the files, write nothing");
  sub->footer("\nExit codes: 0 written, 2 wrong use, or something that the project does not tell.");
  sub->callback([options] {
    const auto done = container(*options);
    if (!done) print_error(done.error());
    set_exit_code(done ? kClean : kUsageError);
  });
}

const CommandRegistration kContainer{{.order = 16, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli
