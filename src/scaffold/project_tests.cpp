// Finds out whether a project has tests for pytest.
#include <algorithm>
#include <array>

#include "base/file_system.h"
#include "scaffold/project.h"

namespace torchport::scaffold {

namespace {

constexpr int kMostFolders = 4000;  // beyond that a folder is no project
constexpr int kMostDepth = 12;

// pytest's default of norecursedirs, and folders of environments.
bool is_entered(const base::FileSystem& fs, const std::string& path, const std::string& name) {
  constexpr std::array<std::string_view, 6> kLeftOut{"_darcs", "build",        "CVS",
                                                     "dist",   "node_modules", "venv"};
  return !name.starts_with('.') && !name.ends_with(".egg") &&
         std::find(kLeftOut.begin(), kLeftOut.end(), name) == kLeftOut.end() &&
         fs.status(base::join_path(path, "pyvenv.cfg"), true).type == base::FileType::kMissing;
}

bool is_test_file(std::string_view name) {
  return name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
}

bool finds_test(const base::FileSystem& fs, const std::string& folder, int depth, int& left) {
  if (depth > kMostDepth || --left < 0) return false;
  const auto entries = fs.list(folder);
  if (!entries) return false;
  for (const base::DirectoryEntry& entry : *entries)
    if (entry.type == base::FileType::kRegular && is_test_file(entry.name)) return true;
  return std::any_of(entries->begin(), entries->end(), [&](const base::DirectoryEntry& entry) {
    const std::string path = base::join_path(folder, entry.name);
    return entry.type == base::FileType::kDirectory && is_entered(fs, path, entry.name) &&
           finds_test(fs, path, depth + 1, left);
  });
}

// Settings by which pytest collects other files than usual.
bool names_other_files(const base::FileSystem& fs, const std::string& root) {
  for (const char* name : {"pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"}) {
    const auto text = fs.read(base::join_path(root, name));
    if (text && (text->find("python_files") != std::string::npos ||
                 text->find("--doctest-") != std::string::npos))
      return true;
  }
  return false;
}

}  // namespace

bool has_tests(const base::FileSystem& fs, const std::string& root) {
  int left = kMostFolders;
  return names_other_files(fs, root) || finds_test(fs, root, 0, left);
}

}  // namespace torchport::scaffold
