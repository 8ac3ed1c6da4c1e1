// Which files a run reads.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "source/project/glob.h"

namespace torchport::project {

struct Discovery {
  std::vector<std::string> files;     // in byte order, each once
  std::vector<base::Error> problems;  // paths that are not there, folders that cannot be read
};

struct DiscoveryOptions {
  GlobList exclude;  // relative to `root`
  std::string root = ".";
  bool respect_gitignore = true;
};

// Walks the given files and folders. A file named outright is read whatever
// the ignore lists say. Folders are walked without following links out of
// them or in circles; version-control folders, virtual environments and
// build output (.git, .venv, node_modules, __pycache__, ...) are passed over.
[[nodiscard]] Discovery discover(const base::FileSystem& fs, const std::vector<std::string>& paths,
                                 const DiscoveryOptions& options);

// The folder of an installed third-party package, found as Python would on the
// given import path entries; fails with kUsage when it is in none.
[[nodiscard]] base::Result<std::string> find_package(const base::FileSystem& fs,
                                                     const std::string& name,
                                                     const std::vector<std::string>& search);

// Folders in which installed packages lie: of $VIRTUAL_ENV, of .venv here, of
// the python3 on PATH, found without starting Python.
[[nodiscard]] std::vector<std::string> site_packages(const base::FileSystem& fs,
                                                     const std::string& virtual_env,
                                                     const std::string& path_variable);

}  // namespace torchport::project
