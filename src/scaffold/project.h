// What a project's own files say about it. They are read and never run: a container is made for
// another machine, and running setup.py here would answer for this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "versions/requirement.h"

namespace torchport::scaffold {

struct SourceLocation {
  std::string file;  // relative to the project
  std::uint32_t line = 0;
};

// A requirement, with the place where the project states it.
struct Requirement : versions::Requirement {
  SourceLocation at;
};

struct Project {
  std::string name;                            // "defect-net"; the folder's where no file says one
  std::string version;                         // empty where no file says it as it is
  std::string python;                          // a specifier: ">=3.9"; empty for none
  std::string python_pin;                      // "3.11" of .python-version
  bool installable = false;                    // pip can build and install it
  std::vector<std::string> build_requires;     // of [build-system]; setuptools where there is none
  std::vector<std::string> requirement_files;  // requirements.txt and what it includes
  std::vector<Requirement> requirements;       // of torch, torchvision and torchaudio
  // Where native code against torch is built: by torch.utils.cpp_extension, or by CMake.
  std::optional<SourceLocation> extension;
  std::optional<SourceLocation> cuda;  // where it is said to have CUDA sources
  std::vector<std::string> scripts;    // console scripts that an installation makes
  std::vector<std::string> doubts;     // what could not be told, with the file
  [[nodiscard]] const Requirement* of(std::string_view name) const;
};

// torch and what is published with it, version by version: these have to be of one index.
[[nodiscard]] bool is_torch_family(std::string_view name);

// Adds a requirement on one of these; leaves out everything else.
void add_requirement(Project& project, std::string_view text, SourceLocation at);

// Looks at pyproject.toml, setup.cfg, setup.py, CMakeLists.txt, .python-version and the
// requirements files in `root`. kIo where there is no such folder, kUsage for a requirements file
// that is asked for by name and not there, kSyntax for a pyproject.toml that is no TOML.
[[nodiscard]] base::Result<Project> read_project(const base::FileSystem& fs,
                                                 const std::string& root,
                                                 const std::vector<std::string>& requirement_files);

// The parts of it. Each takes what the others left open.
[[nodiscard]] base::Result<void> read_pyproject(std::string_view text, Project& project);
void read_setup_cfg(std::string_view text, Project& project);
void read_setup_py(const std::string& text, Project& project);
void read_cmake(std::string_view text, Project& project);

}  // namespace torchport::scaffold
