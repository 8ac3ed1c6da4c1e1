// Writes continuous integration: a workflow that tests a project on the CPU, on virtual devices and
// with CUDA hidden, and a hook for commits.
#pragma once

#include <string>
#include <vector>

#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

struct WorkflowOptions {
  std::string torchport;  // where pip gets it from: a requirement, or a wheel within the project
  std::string branch;     // the repository's default branch; empty: the workflow runs at every push
  std::vector<std::string> requirement_files;  // asked for by name; empty: requirements.txt
  std::string version;                         // of the program that writes
};

// A workflow for GitHub Actions; without the job for tests if the project has none. `target` must
// be one for the CPU, which computes for the virtual devices.
[[nodiscard]] std::string github_workflow(const Project& project, const Target& target,
                                          const WorkflowOptions& options);

// A complete .pre-commit-config.yaml with torchport's check.
[[nodiscard]] std::string pre_commit_config(const WorkflowOptions& options);

// The branch of origin's HEAD, read from .git; empty if .git does not say.
[[nodiscard]] std::string default_branch(const base::FileSystem& fs, const std::string& root);

}  // namespace torchport::scaffold
