// The files that build a container for a project.
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
  bool copy_sources = false;       // the project's files are in the image, beside what is installed
  std::vector<std::string> requirement_files;  // asked for by name; empty: requirements.txt
  // Where pip gets torchport from, for the health check: a requirement, or a wheel's path within
  // the project. Empty: the image goes without.
  std::string torchport;
  std::string context;     // the project's folder as seen from that of the files: ".", "../.."
  std::string dockerfile;  // the Dockerfile as seen from the context: "docker/cuda/Dockerfile"
  std::string version;     // of the program that writes
};

[[nodiscard]] std::string dockerfile(const Project& project, const Target& target,
                                     const ContainerOptions& options);
[[nodiscard]] std::string compose_file(const Project& project, const Target& target,
                                       const ContainerOptions& options);
[[nodiscard]] std::string ignore_file(const ContainerOptions& options);

// "Defect_Net" -> "defect-net": what names of images and services may be made of.
[[nodiscard]] std::string image_name(const Project& project);

}  // namespace torchport::scaffold
