// Continuous integration: a project's tests on the CPU, on virtual devices and with CUDA hidden.
#pragma once

#include <string>
#include <vector>

#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

struct WorkflowOptions {
  std::string torchport;  // where pip gets it from: a requirement, or a wheel within the project
  std::string branch;     // the repository's default one; empty: every push counts
  std::vector<std::string> requirement_files;  // asked for by name; empty: requirements.txt
  std::string version;                         // of the program that writes
};

// For GitHub Actions. `target` is one for the CPU: virtual devices compute on it.
[[nodiscard]] std::string github_workflow(const Project& project, const Target& target,
                                          const WorkflowOptions& options);

// A whole .pre-commit-config.yaml with torchport's check in it.
[[nodiscard]] std::string pre_commit_config(const WorkflowOptions& options);

// The branch that origin's HEAD stands for, read from .git; empty where nothing says it.
[[nodiscard]] std::string default_branch(const base::FileSystem& fs, const std::string& root);

}  // namespace torchport::scaffold
