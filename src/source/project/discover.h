// Decides which files a run reads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "source/project/glob.h"

namespace torchport::project {

struct Discovery {
  std::vector<std::string> files;     // in byte order, each once
  std::vector<base::Error> problems;  // paths that do not exist, folders that cannot be read
  bool complete = true;               // not ended by DiscoveryOptions::stop
};

struct DiscoveryOptions {
  GlobList exclude;  // relative to `root`
  std::string root = ".";
  bool respect_gitignore = true;
  // Asked before each folder, with the number of files so far: the walk ends when it returns true.
  std::function<bool(std::size_t files)> stop;
};

// Walks the given files and folders. A file that is named explicitly is read even if an ignore list
// excludes it. Links are not followed out of a folder or in circles. Version-control folders,
// virtual environments and build output (.git, .venv, node_modules, __pycache__, ...) are skipped.
[[nodiscard]] Discovery discover(const base::FileSystem& fs, const std::vector<std::string>& paths,
                                 const DiscoveryOptions& options);

// Whether a walk of the folder `top` would read this file below it. The file need not exist.
[[nodiscard]] bool would_discover(const base::FileSystem& fs, const std::string& top,
                                  const std::string& file, const DiscoveryOptions& options);

// The folder of an installed package, found on the given import path as Python would find it. Fails
// with kUsage if it is not installed there.
[[nodiscard]] base::Result<std::string> find_package(const base::FileSystem& fs,
                                                     const std::string& name,
                                                     const std::vector<std::string>& search);

// The folders that contain installed packages: those of $VIRTUAL_ENV, of .venv here, and of the
// python3 on PATH. Python is not started for it.
[[nodiscard]] std::vector<std::string> site_packages(const base::FileSystem& fs,
                                                     const std::string& virtual_env,
                                                     const std::string& path_variable);

}  // namespace torchport::project
