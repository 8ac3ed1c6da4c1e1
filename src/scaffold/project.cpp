#include "scaffold/project.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "versions/version.h"

namespace torchport::scaffold {

namespace {

using base::FileType;

constexpr std::size_t kMostFiles = 32;  // the most files that include each other

std::optional<std::string> read(const base::FileSystem& fs, const std::string& root,
                                const std::string& name, Project& project) {
  const std::string path = base::join_path(root, name);
  const auto type = fs.status(path, true).type;
  if (type == FileType::kMissing) return std::nullopt;
  auto text = type == FileType::kRegular ? fs.read(path)
                                         : base::fail(base::ErrorCode::kIo, "is not a file", path);
  if (text) return *text;
  project.doubts.push_back(fmt::format("{} cannot be read ({})", name, text.error().message));
  return std::nullopt;
}

// The file that a line includes: "-r other.txt", "--requirement=other.txt", "-c constraints.txt".
std::optional<std::string> included(std::string_view line) {
  for (const std::string_view option : {"-r", "--requirement", "-c", "--constraint"}) {
    if (!line.starts_with(option)) continue;
    std::string_view rest = line.substr(option.size());
    if (option.size() > 2 && !rest.starts_with(' ') && !rest.starts_with('=')) continue;
    rest = base::trim(rest);
    if (rest.starts_with('=')) rest = base::trim(rest.substr(1));
    return std::string(rest);
  }
  return std::nullopt;
}

// Whether a name needs no quotes in a Dockerfile, and lies within the project.
bool is_plain(std::string_view name) {
  return !name.empty() && name.front() != '/' && name.front() != '-' &&
         name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return base::is_identifier_char(c) || c == '.' || c == '-' || c == '/';
         });
}

void read_requirements(const base::FileSystem& fs, const std::string& root, const std::string& name,
                       Project& project) {
  auto& files = project.requirement_files;
  if (files.size() >= kMostFiles || std::find(files.begin(), files.end(), name) != files.end())
    return;
  if (!is_plain(name)) {
    project.doubts.push_back(
        fmt::format("the requirements file \"{}\" is ignored: its name may contain only letters, "
                    "digits, \"-\", \"_\", \".\" and \"/\", and it must be inside the project",
                    name));
    return;
  }
  const auto text = read(fs, root, name, project);
  if (!text) {
    project.doubts.push_back(fmt::format("the requirements file {} does not exist", name));
    return;
  }
  files.push_back(name);
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(*text, '\n')) {
    ++number;
    const std::string_view bare = base::trim(line.substr(0, line.find('#')));
    if (const auto other = included(bare)) {
      const std::string folder(base::parent_path(name));
      read_requirements(fs, root, base::join_path(folder, *other), project);
      continue;
    }
    add_requirement(project, bare, {name, number});
  }
}

std::string folder_name(const base::FileSystem& fs, const std::string& root) {
  const auto path = fs.canonical(root);
  return std::string(base::file_name(path ? *path : root));
}

}  // namespace

bool is_torch_family(std::string_view name) {
  return name == "torch" || name == "torchvision" || name == "torchaudio";
}

void add_requirement(Project& project, std::string_view text, FileLine at) {
  auto requirement = versions::parse_requirement(text);
  if (requirement && is_torch_family(requirement->name))
    project.requirements.push_back({std::move(*requirement), std::move(at)});
}

const Requirement* Project::of(std::string_view wanted) const {
  const Requirement* found = nullptr;
  for (const Requirement& requirement : requirements) {
    if (requirement.name != wanted) continue;
    // A pin is more precise than a bound.
    if (found == nullptr || (versions::pinned(found->specifier).empty() &&
                             !versions::pinned(requirement.specifier).empty()))
      found = &requirement;
  }
  return found;
}

void read_cmake(std::string_view text, Project& project) {
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    const std::string_view bare = line.substr(0, line.find('#'));
    const std::string lower = base::lower(bare);
    const FileLine place{"CMakeLists.txt", number};
    if (!project.extension && (lower.find("find_package(torch") != std::string::npos ||
                               lower.find("torchport_torch_extension(") != std::string::npos))
      project.extension = place;
    if (!project.cuda &&
        (base::contains_word(bare, "CUDA_SOURCES") ||
         (lower.find("enable_language(cuda") != std::string::npos) ||
         (lower.find("project(") != std::string::npos && base::contains_word(bare, "CUDA"))))
      project.cuda = place;
  }
  if (project.cuda && !project.extension) project.extension = project.cuda;
}

base::Result<Project> read_project(const base::FileSystem& fs, const std::string& root,
                                   const std::vector<std::string>& requirement_files) {
  if (fs.status(root, true).type != FileType::kDirectory)
    return base::fail(base::ErrorCode::kIo, "is not a folder", root);
  Project project;
  if (const auto text = read(fs, root, "pyproject.toml", project)) {
    if (auto done = read_pyproject(*text, project); !done) {
      base::Error error = done.error();
      error.path = base::join_path(root, error.path);
      return tl::unexpected<base::Error>(std::move(error));
    }
  }
  if (const auto text = read(fs, root, "setup.cfg", project)) read_setup_cfg(*text, project);
  if (const auto text = read(fs, root, "setup.py", project)) read_setup_py(*text, project);
  if (const auto text = read(fs, root, "CMakeLists.txt", project)) read_cmake(*text, project);
  if (const auto text = read(fs, root, ".python-version", project)) {
    const auto numbers = versions::parse_version(base::trim(*text));
    if (numbers.size() >= 2)
      project.python_pin = fmt::format("{}.{}", numbers[0], numbers[1]);
    else
      project.doubts.emplace_back(
          ".python-version does not name a release of Python: give one, e.g. --python 3.12");
  }
  if (!requirement_files.empty()) {
    for (const std::string& name : requirement_files) {
      const std::string path = base::join_path(root, name);
      if (fs.status(path, true).type != FileType::kRegular)
        return base::fail(base::ErrorCode::kUsage, "is not a requirements file of the project",
                          path);
      read_requirements(fs, root, name, project);
    }
  } else if (fs.status(base::join_path(root, "requirements.txt"), true).type !=
             FileType::kMissing) {
    read_requirements(fs, root, "requirements.txt", project);
  }
  project.tests = has_tests(fs, root);
  if (project.name.empty()) project.name = folder_name(fs, root);
  if (project.build_requires.empty()) project.build_requires = {"setuptools", "wheel"};
  return project;
}

}  // namespace torchport::scaffold
