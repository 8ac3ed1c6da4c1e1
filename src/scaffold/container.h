// Writes the files that build a container for a project. All functions return text and write
// nothing, so that `--stdout` and tests see exactly what would be written.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "scaffold/files.h"
#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

struct ContainerOptions {
  std::vector<std::string> entry;  // what the container runs: {"python", "train.py"}; empty: none
  bool copy_sources = false;       // the image has the project's files, beside what is installed
  std::vector<std::string> requirement_files;  // named by the user; empty: requirements.txt
  // Where pip gets torchport from for the health check: a requirement, or a wheel's path within the
  // project. If empty, the image does not have it.
  std::string torchport;
  std::string context;     // the project's folder relative to that of the files: ".", "../.."
  std::string dockerfile;  // the Dockerfile relative to the context: "docker/cuda/Dockerfile"
  std::string version;     // the version of torchport that writes
};

[[nodiscard]] std::string dockerfile(const Project& project, const Target& target,
                                     const ContainerOptions& options);
[[nodiscard]] std::string compose_file(const Project& project, const Target& target,
                                       const ContainerOptions& options);
[[nodiscard]] std::string ignore_file(const ContainerOptions& options);

// The project's name in the characters that images and services allow: "Defect_Net" ->
// "defect-net".
[[nodiscard]] std::string image_name(const Project& project);

}  // namespace torchport::scaffold
