#include "cli/python.h"

#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file_system.h"
#include "base/text.h"

namespace torchport::cli {

namespace {

namespace fs = std::filesystem;

// The interpreter in a folder of programs; empty if there is none.
fs::path python_in(const fs::path& folder) {
  std::error_code error;
  for (const char* name : {"python", "python3"})
    if (auto candidate = folder / name; fs::exists(candidate, error)) return candidate;
  return {};
}

// Whether the files of an environment have torch.
bool has_torch(const fs::path& prefix) {
  std::error_code error;
  for (const fs::path& site : site_folders(prefix))
    if (fs::exists(site / "torch" / "version.py", error)) return true;
  return false;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// The interpreters of other environments, the preferred first.
std::vector<fs::path> others() {
  std::vector<fs::path> found;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (variable(name).empty()) continue;
    if (auto python = python_in(fs::path(variable(name)) / "bin"); !python.empty())
      found.push_back(std::move(python));
  }
  for (const std::string_view folder : base::split(variable("PATH"), ':')) {
    if (folder.empty()) continue;
    if (auto python = python_in(folder); !python.empty()) {
      found.push_back(std::move(python));
      break;
    }
  }
  return found;
}

}  // namespace

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<fs::path> site_folders(const fs::path& prefix) {
  std::vector<fs::path> found;
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    const auto entries = base::real_file_system().list((prefix / lib).string());
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries) {
      if (!entry.name.starts_with("python3")) continue;
      for (const char* site : {"site-packages", "dist-packages"})
        found.push_back(prefix / lib / entry.name / site);
    }
  }
  return found;
}

std::string own_prefix() {
  return own_folder().parent_path().string();
}

Python find_python() {
  const fs::path folder = own_folder();
  const fs::path own = folder.empty() ? fs::path() : python_in(folder);
  if (!own.empty() && has_torch(folder.parent_path())) return {own.string(), true};
  for (const fs::path& other : others())
    if (has_torch(other.parent_path().parent_path())) return {other.string(), false};
  if (!own.empty()) return {own.string(), true};
  return {"python3", false};
}

std::string python_of_this_environment() {
  return find_python().program;
}

}  // namespace torchport::cli
