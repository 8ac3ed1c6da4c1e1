// Reads what a project's own files say about it. They are read and never run: a container is for
// another machine, and setup.py would answer for this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "versions/requirement.h"

namespace torchport::scaffold {

struct FileLine {
  std::string file;  // relative to the project
  std::uint32_t line = 0;
};

// A requirement, with the place where the project states it.
struct Requirement : versions::Requirement {
  FileLine at;
};

struct Project {
  std::string name;                            // "defect-net"; the folder's name if no file has one
  std::string version;                         // empty if no file has it as a literal
  std::string python;                          // a specifier: ">=3.9"; empty for none
  std::string python_pin;                      // "3.11" from .python-version
  bool installable = false;                    // pip can build and install it
  std::vector<std::string> build_requires;     // from [build-system]; setuptools if there is none
  std::vector<std::string> requirement_files;  // requirements.txt and what it includes
  std::vector<Requirement> requirements;       // of torch, torchvision and torchaudio
  // The place where native code that uses torch is built: by torch.utils.cpp_extension, or by
  // CMake.
  std::optional<FileLine> extension;
  std::optional<FileLine> cuda;      // the place that says that it has CUDA sources
  std::vector<std::string> scripts;  // console scripts that an installation creates
  bool tests = false;                // pytest finds a file of tests
  std::vector<std::string> doubts;   // what could not be found out, with the file
  [[nodiscard]] const Requirement* of(std::string_view name) const;
};

// Whether a package is torch or is published with each version of it. These have to come from one
// index.
[[nodiscard]] bool is_torch_family(std::string_view name);

// Adds a requirement if it is on one of these.
void add_requirement(Project& project, std::string_view text, FileLine at);

// Reads pyproject.toml, setup.cfg, setup.py, CMakeLists.txt, .python-version and the requirements
// files in `root`. Fails with kIo if there is no such folder, with kUsage if a requirements file
// that the user named does not exist, and with kSyntax if pyproject.toml is not TOML.
[[nodiscard]] base::Result<Project> read_project(const base::FileSystem& fs,
                                                 const std::string& root,
                                                 const std::vector<std::string>& requirement_files);

// The parts of read_project(). Each fills only what the others left open.
[[nodiscard]] base::Result<void> read_pyproject(std::string_view text, Project& project);
void read_setup_cfg(std::string_view text, Project& project);
void read_setup_py(const std::string& text, Project& project);
void read_cmake(std::string_view text, Project& project);
// Whether pytest collects tests in this folder: there is a test_*.py or a *_test.py in a folder
// that it enters, or its settings name other files.
[[nodiscard]] bool has_tests(const base::FileSystem& fs, const std::string& root);

}  // namespace torchport::scaffold
