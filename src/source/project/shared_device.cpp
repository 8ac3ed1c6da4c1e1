#include "source/project/shared_device.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>

#include "source/edit/device_source.h"
#include "source/edit/offered_device.h"
#include "source/rules/examine.h"

namespace torchport::project {

namespace {

constexpr std::string_view kInit = "__init__.py";
constexpr std::size_t kLargestHelper = std::size_t{256} << 10U;  // bytes

bool exists(const base::FileSystem& fs, const std::string& path) {
  return fs.status(path, true).type != base::FileType::kMissing;
}

bool is_package(const base::FileSystem& fs, const std::string& folder) {
  return exists(fs, base::join_path(folder, kInit));
}

// The folders of packages around a file, the innermost one first.
std::vector<std::string> packages_around(const base::FileSystem& fs, const std::string& path) {
  std::vector<std::string> folders;
  std::string folder(base::parent_path(path));
  while (is_package(fs, folder)) {
    folders.push_back(folder);
    const std::string up(base::parent_path(folder));
    if (up == folder || folder == ".") break;
    folder = up;
  }
  return folders;
}

// A module that offers a device.
struct Offer {
  std::string path;
  edit::SharedDevice device;
};

// The files of one package that need a device.
struct Group {
  std::vector<std::string> files;
  bool relative = false;  // one of them has relative imports
};

class Sharing {
 public:
  Sharing(const base::FileSystem& fs, const flow::Packages& packages)
      : fs_(fs), packages_(packages) {}

  SharedDevices share(const std::vector<std::string>& needing,
                      const std::vector<std::string>& files, const edit::Settings& settings) {
    std::map<std::string, Group> groups;  // by the package's folder
    for (const std::string& path : needing) add(path, groups);
    const std::unordered_set<std::string> writable(files.begin(), files.end());
    SharedDevices result;
    for (const auto& [folder, group] : groups) {
      std::optional<Offer> offer = find_offer(folder);
      if (!offer && group.files.size() >= kFewestSharing &&
          writable.contains(base::join_path(folder, kInit))) {
        offer = new_module(folder);
        if (offer)
          result.created.push_back({offer->path, "", edit::device_module(settings), 0644, true});
      }
      if (!offer) continue;
      for (const std::string& path : group.files) {
        if (path == offer->path) continue;
        edit::SharedDevice device = offer->device;
        device.module = module_of(offer->path, path, folder, group.relative);
        result.by_path.emplace(path, SharedDevices::Use{std::move(device), offer->path});
      }
    }
    return result;
  }

 private:
  // Adds a file to the group of the outermost package that imports show around it.
  void add(const std::string& path, std::map<std::string, Group>& groups) const {
    const auto found = packages_.members.find(path);
    if (found == packages_.members.end()) return;
    const flow::Member& member = found->second;
    std::string root;
    for (std::string& folder : packages_around(fs_, path))
      if (packages_.folders.contains(folder)) root = std::move(folder);
    if (root.empty()) return;
    const bool by_name = !member.absolute.empty() && member.absolute == base::file_name(root);
    if (!member.relative && !by_name && !is_only_imported(path, member)) return;
    Group& group = groups[root];
    group.files.push_back(path);
    group.relative |= member.relative;
  }

  // Whether a file without imports of its package is imported as a part of it, and no script.
  [[nodiscard]] bool is_only_imported(const std::string& path, const flow::Member& member) const {
    if (!member.imported || member.bare || !member.absolute.empty()) return false;
    const auto text = fs_.read(path);
    return text && text->find("__main__") == std::string::npos;
  }

  // A module that can be imported whenever a module of the package is: it imports nothing of the
  // package, and neither do the packages on the way to it.
  [[nodiscard]] std::optional<Offer> find_offer(const std::string& root) const {
    static constexpr std::array<std::string_view, 7> kFolders{"utils",   "util", "common", "core",
                                                              "helpers", "misc", "tools"};
    if (auto offer = offer_in(root, root)) return offer;
    for (const std::string_view name : kFolders) {
      const std::string folder = base::join_path(root, name);
      const std::string init = base::join_path(folder, kInit);
      const auto text = fs_.read(init);
      if (!text) continue;
      const auto tree = syntax::Tree::parse(*text, rules::parse_limits(init, nullptr));
      if (!tree || edit::imports_package(semantics::SemanticModel(*tree), base::file_name(root)))
        continue;
      if (auto offer = offer_in(folder, root)) return offer;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Offer> offer_in(const std::string& folder,
                                              const std::string& root) const {
    const auto entries = fs_.list(folder);
    if (!entries) return std::nullopt;
    for (const base::DirectoryEntry& entry : *entries) {
      if (entry.type != base::FileType::kRegular || !entry.name.ends_with(".py") ||
          entry.name == kInit)
        continue;
      const std::string path = base::join_path(folder, entry.name);
      if (fs_.status(path, true).size > kLargestHelper) continue;
      const auto text = fs_.read(path);
      if (!text || !edit::asks_for_accelerator(*text)) continue;
      const auto tree = syntax::Tree::parse(*text, rules::parse_limits(path, nullptr));
      if (!tree || (*tree)->has_syntax_error()) continue;
      const semantics::SemanticModel model(*tree);
      if (auto device = edit::offered_device(model, base::file_name(root)))
        return Offer{path, std::move(*device)};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Offer> new_module(const std::string& folder) const {
    for (const std::string_view name : {"_device", "_torch_device"}) {
      const std::string module = base::join_path(folder, name);
      if (exists(fs_, module) || exists(fs_, module + ".py")) continue;
      return Offer{module + ".py", {"", "DEVICE", false}};
    }
    return std::nullopt;
  }

  // How a file writes another one of its package in an import.
  [[nodiscard]] std::string module_of(const std::string& target, const std::string& path,
                                      const std::string& root, bool group_is_relative) const {
    const flow::Member& member = packages_.members.at(path);
    std::string rest = target.substr(root == "." ? 0 : root.size() + 1);
    rest.resize(rest.size() - std::string_view(".py").size());
    std::replace(rest.begin(), rest.end(), '/', '.');
    const bool relative = member.relative || (member.absolute.empty() && group_is_relative);
    if (!relative && root != ".") return std::string(base::file_name(root)) + "." + rest;
    std::string module = ".";
    for (std::string folder(base::parent_path(path)); folder != root;
         folder = std::string(base::parent_path(folder))) {
      // Not above what both are in.
      const std::string below = folder.substr(root == "." ? 0 : root.size() + 1) + ".";
      if (rest.starts_with(below)) {
        rest.erase(0, below.size());
        break;
      }
      module += '.';
    }
    return module + rest;
  }

  const base::FileSystem& fs_;
  const flow::Packages& packages_;
};

}  // namespace

SharedDevices share_devices(const base::FileSystem& fs, const flow::Packages& packages,
                            const std::vector<std::string>& needing,
                            const std::vector<std::string>& files, const edit::Settings& settings) {
  return Sharing(fs, packages).share(needing, files, settings);
}

}  // namespace torchport::project
