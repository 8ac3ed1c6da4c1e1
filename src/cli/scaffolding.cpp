#include "cli/scaffolding.h"

#include <filesystem>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "source/report/report.h"

namespace torchport::cli {

namespace {

tl::unexpected<base::Error> usage_error(std::string message) {
  return base::fail(base::ErrorCode::kUsage, std::move(message));
}

std::size_t parts(const std::string& version) {
  return base::split(version, '.').size();
}

std::FILE* beside_files(const ScaffoldOptions& options) {
  return options.only_show ? stderr : stdout;
}

// A wheel that the user names, relative to the project: neither an image's context nor a checkout
// has anything else of this machine. The name is relative to the project or to the current folder.
base::Result<std::string> wheel_in_project(const std::string& project, const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto resolved = [&error](const fs::path& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  const fs::path root = resolved(project);
  for (const fs::path& path : {root / given, fs::path(given)}) {
    if (!is_file(path.string())) continue;
    std::string inner = resolved(path).lexically_relative(root).generic_string();
    if (error || inner.empty() || inner.starts_with(".."))
      return usage_error(fmt::format(
          "--torchport {} is not a file in the project {}: copy it there, e.g. into wheels/", given,
          project));
    if (inner.find_first_of(" ,;=") != std::string::npos)
      return usage_error(fmt::format(
          "--torchport {}: the path of a wheel must not contain blanks or , ; =", given));
    return inner;
  }
  return usage_error(fmt::format("--torchport {} is not a file in the project", given));
}

// The wheel in one of the folders where wheels usually lie; empty if there is none. Of several, the
// one of this version, else the last by name.
std::string find_wheel(const std::string& project) {
  const std::string own = fmt::format("torchport-{}-", TORCHPORT_VERSION);
  for (const char* folder : {"", "wheels", "dist"}) {
    const auto entries = base::real_file_system().list(base::join_path(project, folder));
    if (!entries) continue;
    std::string best;
    for (const base::DirectoryEntry& entry : *entries) {
      const std::string& name = entry.name;
      if (!name.starts_with("torchport-") || !name.ends_with(".whl")) continue;
      if (best.empty() ||
          std::pair(name.starts_with(own), name) > std::pair(best.starts_with(own), best))
        best = name;
    }
    if (!best.empty()) return *folder == '\0' ? best : base::join_path(folder, best);
  }
  return {};
}

}  // namespace

bool is_file(const std::string& path) {
  return base::real_file_system().status(path, true).type == base::FileType::kRegular;
}

void add_scaffold_options(CLI::App& command, ScaffoldOptions& options) {
  command
      .add_option("project", options.project, "The project's folder (default: the current folder)")
      ->type_name("PROJECT");
  command.add_option("--torch", options.target.torch, "The version of torch, e.g. 2.13.0")
      ->type_name("VERSION");
  command.add_option("--python", options.target.python, "The release of Python, e.g. 3.12")
      ->type_name("VERSION");
  command
      .add_option("--requirements", options.requirements,
                  "A requirements file of the project (default: requirements.txt); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--torchport", options.torchport,
                  "What pip installs torchport from: a wheel in the project, or a requirement")
      ->type_name("WHERE");
  command.add_flag("--force", options.force, "Overwrite existing files");
  command.add_flag("--stdout,--dry-run", options.only_show, "Print the files and write nothing");
}

base::Result<void> check_plain(std::string_view option, std::string_view text) {
  constexpr std::string_view kOthers = "-./+;,= ";
  for (const char c : text)
    if (!base::is_identifier_char(c) && kOthers.find(c) == std::string_view::npos)
      return usage_error(fmt::format("{} {}: use only letters, digits, blanks and - _ . / + ; , =",
                                     option, report::one_line(text)));
  return {};
}

base::Result<void> check_scaffold_options(const ScaffoldOptions& options) {
  const scaffold::TargetOptions& target = options.target;
  for (const auto& [name, text] :
       {std::pair("--torch", &target.torch), std::pair("--variant", &target.variant),
        std::pair("--python", &target.python), std::pair("--arch-list", &target.arch_list),
        std::pair("--torchport", &options.torchport)})
    if (auto plain = check_plain(name, *text); !plain) return plain;
  if (!target.torch.empty() &&
      (parts(target.torch) != 3 || target.torch.find('+') != std::string::npos))
    return usage_error(fmt::format(
        "--torch {} is not a release; write it like 2.13.0 (the device decides the build)",
        target.torch));
  if (!target.python.empty() && parts(target.python) != 2)
    return usage_error(
        fmt::format("--python {} is not a release; write it like 3.12", target.python));
  return {};
}

base::Result<std::string> torchport_source(const ScaffoldOptions& options,
                                           std::vector<std::string>& notes) {
  const std::string& given = options.torchport;
  if (given.ends_with(".whl")) return wheel_in_project(options.project, given);
  if (!given.empty()) return given;
  if (std::string wheel = find_wheel(options.project); !wheel.empty()) return wheel;
  notes.push_back(
      fmt::format("pip takes torchport=={0} from its index; --torchport "
                  "wheels/torchport-{0}-....whl takes a wheel in the project",
                  TORCHPORT_VERSION));
  return fmt::format("torchport=={}", TORCHPORT_VERSION);
}

// Whether a folder below the project, on the way to a file, is a link: it may have come with the
// project, and lead out of it.
base::Result<void> refuse_links(const std::string& project, const std::string& path) {
  const base::FileSystem& fs = base::real_file_system();
  std::string folder(base::parent_path(path));
  while (folder.size() > project.size() && folder != ".") {
    if (fs.status(folder, false).type == base::FileType::kSymlink)
      return base::fail(base::ErrorCode::kUsage,
                        "is a link, through which nothing is written; --stdout only prints",
                        folder);
    folder = std::string(base::parent_path(folder));
    if (folder == "/" || folder.empty()) break;
  }
  return {};
}

base::Result<void> put_files(const std::vector<scaffold::File>& files,
                             const ScaffoldOptions& options) {
  if (options.only_show) {
    for (const scaffold::File& file : files)
      fmt::print("==> {} <==\n{}\n", report::one_line(file.path), file.content);
    return {};
  }
  for (const scaffold::File& file : files)
    if (auto fine = refuse_links(options.project, file.path); !fine) return fine;
  const auto written = scaffold::write_files(base::real_file_system(), files, options.force);
  if (!written) return tl::unexpected<base::Error>(written.error());
  for (std::size_t i = 0; i < files.size(); ++i)
    fmt::print("{} {}\n", to_text((*written)[i]), report::one_line(files[i].path));
  return {};
}

void print_choice(const ScaffoldOptions& options, std::string_view name, std::string_view value) {
  print_row(beside_files(options), name, value);
}

void print_notes(const ScaffoldOptions& options,
                 const std::vector<const std::vector<std::string>*>& notes) {
  for (const auto* list : notes)
    for (const std::string& note : *list)
      fmt::print(beside_files(options), "  note: {}\n", report::one_line(note));
}

}  // namespace torchport::cli
