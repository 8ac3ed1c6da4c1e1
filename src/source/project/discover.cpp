#include "source/project/discover.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "source/rules/examine.h"

namespace torchport::project {

namespace {

using base::FileType;

bool always_skipped(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kNames{".git",           ".hg",
                                                           ".svn",           ".venv",
                                                           "venv",           "node_modules",
                                                           "__pycache__",    ".tox",
                                                           ".nox",           ".mypy_cache",
                                                           ".pytest_cache",  ".ruff_cache",
                                                           ".eggs",          ".ipynb_checkpoints",
                                                           "__pypackages__", ".cache",
                                                           ".torchport"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

class Walk {
 public:
  Walk(const base::FileSystem& fs, const DiscoveryOptions& options) : fs_(fs), options_(options) {}

  void start(const std::string& path) {
    const auto status = fs_.status(path, true);
    switch (status.type) {
      case FileType::kMissing:
        result_.problems.push_back({base::ErrorCode::kIo, "No such file or directory", path, 0});
        return;
      case FileType::kRegular:
        result_.files.push_back(path);
        return;
      case FileType::kDirectory:
        break;
      default:
        result_.problems.push_back({base::ErrorCode::kIo, "neither a file nor a folder", path, 0});
        return;
    }
    std::vector<Level> levels = inherited_levels(path);
    folder(path, levels);
  }

  // Whether start(top) would find this file, which is below it.
  bool reaches(const std::string& top, const std::string& file) {
    std::vector<Level> levels = inherited_levels(top);
    std::string folder = top;
    std::string_view rest =
        std::string_view(file).substr(top.ends_with('/') ? top.size() : top.size() + 1);
    while (true) {
      if (options_.respect_gitignore) add_level(canonical_of(folder), levels, folder);
      const auto slash = rest.find('/');
      const base::DirectoryEntry entry{
          std::string(rest.substr(0, slash)),
          slash == std::string_view::npos ? FileType::kRegular : FileType::kDirectory};
      bool enters = false;
      const std::size_t found = result_.files.size();
      visit(folder, entry, levels, [&](const std::string&) { enters = true; });
      if (slash == std::string_view::npos) return result_.files.size() > found;
      if (!enters) return false;
      folder = base::join_path(folder, entry.name);
      rest.remove_prefix(slash + 1);
    }
  }

  Discovery take() {
    auto& files = result_.files;
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    return std::move(result_);
  }

 private:
  // The .gitignore of one folder on the path down.
  struct Level {
    std::string folder;
    GlobList globs;
  };

  // .gitignore files above the start, up to the top of the repository.
  std::vector<Level> inherited_levels(const std::string& start) {
    std::vector<Level> levels;
    if (!options_.respect_gitignore) return levels;
    auto top = fs_.canonical(start);
    if (!top) return levels;
    std::vector<std::string> chain;
    std::string folder = *top;
    while (fs_.status(base::join_path(folder, ".git"), true).type == FileType::kMissing) {
      const std::string up(base::parent_path(folder));
      if (up == folder || up == ".") return levels;  // not a repository, so nothing above matters
      chain.push_back(up);
      folder = up;
    }
    std::reverse(chain.begin(), chain.end());
    for (const std::string& above : chain) add_level(above, levels, {});
    // Paths below are compared by canonical name.
    canonical_start_ = *top;
    start_ = start;
    return levels;
  }

  void add_level(const std::string& folder, std::vector<Level>& levels, const std::string& shown) {
    const std::string path = base::join_path(shown.empty() ? folder : shown, ".gitignore");
    if (fs_.status(path, true).type != FileType::kRegular) return;
    Level level{folder, {}};
    if (auto text = fs_.read(path)) level.globs.add_lines(*text);
    levels.push_back(std::move(level));
  }

  [[nodiscard]] std::string canonical_of(const std::string& path) const {
    if (canonical_start_.empty()) return path;
    if (path == start_) return canonical_start_;
    const std::string prefix = start_ == "." ? "" : start_.ends_with('/') ? start_ : start_ + "/";
    return canonical_start_ + "/" + path.substr(prefix.size());
  }

  [[nodiscard]] bool ignored(const std::string& path, bool is_directory,
                             const std::vector<Level>& levels) const {
    if (options_.respect_gitignore) {
      const std::string full = canonical_of(path);
      for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
        const std::string prefix = level->folder == "." ? "" : level->folder + "/";
        if (!full.starts_with(prefix)) continue;
        const int verdict =
            level->globs.decide(std::string_view(full).substr(prefix.size()), is_directory);
        if (verdict != 0) return verdict > 0;
      }
    }
    std::string_view relative = path;
    if (options_.root != "." && relative.starts_with(options_.root + "/"))
      relative.remove_prefix(options_.root.size() + 1);
    return options_.exclude.decide(relative, is_directory) > 0;
  }

  void folder(const std::string& top, std::vector<Level>& inherited) {
    // An explicit stack, because users may nest folders as deep as they like.
    struct Pending {
      std::string path;
      std::size_t levels;
    };
    std::vector<Level> levels = inherited;
    std::vector<Pending> stack{{top, levels.size()}};
    while (!stack.empty()) {
      if (options_.stop && options_.stop(result_.files.size())) {
        result_.complete = false;
        return;
      }
      const Pending here = std::move(stack.back());
      stack.pop_back();
      levels.resize(here.levels, Level{});
      const auto status = fs_.status(here.path, true);
      if (status.inode != 0 && !seen_.insert({status.device, status.inode}).second) continue;
      auto entries = fs_.list(here.path);
      if (!entries) {
        result_.problems.push_back(entries.error());
        continue;
      }
      if (options_.respect_gitignore) add_level(canonical_of(here.path), levels, here.path);
      for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry)
        visit(here.path, *entry, levels, [&](std::string path) {
          stack.push_back({std::move(path), levels.size()});
        });
    }
  }

  template <class Push>
  void visit(const std::string& parent, const base::DirectoryEntry& entry,
             const std::vector<Level>& levels, Push push) {
    const std::string path = base::join_path(parent, entry.name);
    if (entry.type == FileType::kDirectory) {
      if (always_skipped(entry.name) || ignored(path, true, levels)) return;
      // This is a virtual environment, whatever its name.
      if (fs_.status(base::join_path(path, "pyvenv.cfg"), true).type == FileType::kRegular) return;
      push(path);
      return;
    }
    // The target of a link to a file is read anyway if it is within the walked folders, so the link
    // is skipped.
    if (entry.type != FileType::kRegular) return;
    if (rules::kind_of_path(path) == rules::FileKind::kOther || ignored(path, false, levels))
      return;
    result_.files.push_back(path);
  }

  const base::FileSystem& fs_;
  const DiscoveryOptions& options_;
  Discovery result_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
  std::string start_;
  std::string canonical_start_;
};

}  // namespace

Discovery discover(const base::FileSystem& fs, const std::vector<std::string>& paths,
                   const DiscoveryOptions& options) {
  Walk walk(fs, options);
  for (std::string path : paths) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    while (path.starts_with("./") && path.size() > 2) path.erase(0, 2);
    walk.start(path);
  }
  return walk.take();
}

bool would_discover(const base::FileSystem& fs, const std::string& top, const std::string& file,
                    const DiscoveryOptions& options) {
  return Walk(fs, options).reaches(top, file);
}

std::vector<std::string> site_packages(const base::FileSystem& fs, const std::string& virtual_env,
                                       const std::string& path_variable) {
  std::vector<std::string> found;
  const auto add_under = [&](const std::string& prefix) {
    const std::string lib = base::join_path(prefix, "lib");
    auto entries = fs.list(lib);
    if (!entries) return;
    for (const auto& entry : *entries) {
      if (!entry.name.starts_with("python3")) continue;
      for (const std::string_view leaf : {"site-packages", "dist-packages"}) {
        const std::string folder = base::join_path(base::join_path(lib, entry.name), leaf);
        if (fs.status(folder, true).type == FileType::kDirectory) found.push_back(folder);
      }
    }
  };
  if (!virtual_env.empty()) add_under(virtual_env);
  add_under(".venv");
  for (const std::string_view folder : base::split(path_variable, ':')) {
    const std::string python = base::join_path(folder, "python3");
    if (fs.status(python, true).type != FileType::kRegular) continue;
    if (auto real = fs.canonical(python))
      add_under(std::string(base::parent_path(base::parent_path(*real))));
    add_under(std::string(base::parent_path(folder)));
  }
  return found;
}

base::Result<std::string> find_package(const base::FileSystem& fs, const std::string& name,
                                       const std::vector<std::string>& search) {
  std::string relative = name;
  std::replace(relative.begin(), relative.end(), '.', '/');
  for (const std::string& folder : search) {
    for (const std::string& candidate :
         {base::join_path(folder, relative), base::join_path(folder, relative + ".py")}) {
      if (fs.status(candidate, true).type != FileType::kMissing) return candidate;
    }
  }
  return base::fail(base::ErrorCode::kUsage,
                    fmt::format("package \"{}\" is not installed in any of the {} environments "
                                "looked at; activate its environment or give its path",
                                name, search.size()));
}

}  // namespace torchport::project
