// Finds the folders that are nothing but CUDA kernels.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/file_system.h"
#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

constexpr int kMostHops = 6;  // of a name that modules import from each other
constexpr std::size_t kFewestFiles = 3;
constexpr std::size_t kMostOwners = 4;  // files that one imported name may mean

// Whether a file tests, measures or shows something, by the names in its path.
bool is_about_others(std::string_view path) {
  for (const std::string_view word : {"test", "bench", "example"}) {
    for (auto at = path.find(word); at != std::string_view::npos; at = path.find(word, at + 1))
      if (at == 0 || path[at - 1] == '/' || path[at - 1] == '_') return true;
  }
  return false;
}

// Whether a module lies in a package, "a.b.", wherever that begins.
bool lies_below(std::string_view module, std::string_view package) {
  for (auto at = module.find(package); at != std::string_view::npos;
       at = module.find(package, at + 1))
    if (at == 0 || module[at - 1] == '.') return true;
  return false;
}

class KernelFiles {
 public:
  explicit KernelFiles(const Summary::Joined& joined) : joined_(joined), modules_(joined) {}

  // Whether a file has kernels, or exists for those of another one.
  [[nodiscard]] bool holds(std::uint32_t file) const {
    const FileFacts& facts = joined_.files[file].facts;
    if (facts.kernels) return true;
    return is_about_others(joined_.files[file].path) &&
           std::any_of(facts.imports.begin(), facts.imports.end(),
                       [&](const Import& import) { return leads_to(file, import.full, 0); });
  }

 private:
  // Whether an imported name is defined in a file with kernels.
  [[nodiscard]] bool leads_to(std::uint32_t from, std::string_view name, int hops) const {
    std::string own;
    const std::string_view full = joined_.full_name(from, name, own);
    const Summary::Joined::Module module =
        name.starts_with('.') ? joined_.module_in(full) : modules_.of(from, name);
    if (module.files.empty()) return is_of_package(from, full);
    const std::string_view rest =
        module.name.size() < full.size() ? full.substr(module.name.size() + 1) : std::string_view();
    // Of several files with the name, each must have kernels.
    return module.files.size() <= kMostOwners &&
           std::all_of(module.files.begin(), module.files.end(), [&](std::uint32_t owner) {
             return owner != from && defines(owner, rest.substr(0, rest.find('.')), hops);
           });
  }

  // Whether a name comes from a package of this project, and each of its files that defines a
  // function of this name has kernels. The package's own file, which hands the name on, says
  // nothing of torch and was not read then.
  [[nodiscard]] bool is_of_package(std::uint32_t from, std::string_view full) const {
    const auto dot = full.rfind('.');
    if (dot == std::string_view::npos) return false;
    const std::string package = std::string(full.substr(0, dot)) + ".";
    const auto& owners = definers_of(full.substr(dot + 1));
    bool found = false;
    for (const std::uint32_t owner : owners) {
      if (owner == from || !lies_below(joined_.modules[owner], package)) continue;
      if (!joined_.files[owner].facts.kernels) return false;
      found = true;
    }
    return found;
  }

  // The files that define a function of this name.
  [[nodiscard]] const std::vector<std::uint32_t>& definers_of(std::string_view name) const {
    if (definers_.empty()) {
      for (std::uint32_t file = 0; file < joined_.files.size(); ++file) {
        const FileFacts& facts = joined_.files[file].facts;
        for (const std::uint32_t function : facts.functions_by_name)
          definers_[facts.text(facts.functions[function].name)].push_back(file);
      }
    }
    static const std::vector<std::uint32_t> kNone;
    const auto found = definers_.find(name);
    return found == definers_.end() ? kNone : found->second;
  }

  // Whether a file has kernels, or imports this name from one that has.
  [[nodiscard]] bool defines(std::uint32_t file, std::string_view name, int hops) const {
    if (joined_.files[file].facts.kernels) return true;
    if (name.empty() || hops >= kMostHops) return false;
    const auto handed = joined_.files[file].facts.imported(name);
    return handed && leads_to(file, *handed, hops + 1);
  }

  const Summary::Joined& joined_;
  mutable Summary::Joined::KnownModules modules_;
  mutable std::unordered_map<std::string_view, std::vector<std::uint32_t>> definers_;
};

struct Count {
  std::size_t files = 0;
  std::size_t kernels = 0;
};

// Whether a file says nothing of what its folder is: settings, what builds it, what hands names on.
bool says_nothing(std::string_view path) {
  return !path.ends_with(".py") || path.ends_with("setup.py") || path.ends_with("__init__.py");
}

// Calls `visit` with each folder around a file, the nearest one first; "" is the last.
template <class Visit>
void each_folder(std::string_view path, const Visit& visit) {
  while (!path.empty()) {
    const auto slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    visit(path);
  }
}

using Counts = std::unordered_map<std::string_view, Count>;  // by folder

// The folders of which three of four files are kernels, no folder in another one.
std::vector<std::string> outermost(const Counts& counts) {
  std::vector<std::string_view> full;
  for (const auto& [folder, count] : counts)
    if (count.files >= kFewestFiles && count.kernels * 4 >= count.files * 3) full.push_back(folder);
  std::sort(full.begin(), full.end());  // outer folders come first
  std::vector<std::string> folders;
  for (const std::string_view folder : full) {
    const bool inside = std::any_of(folders.begin(), folders.end(), [&](const std::string& o) {
      return base::is_within(folder, o);
    });
    if (!inside) folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

void Summary::Joined::find_kernels() {
  const KernelFiles kernel_files(*this);
  Counts all;
  Counts own;  // without what tests, measures or shows others
  std::vector<std::pair<std::string_view, bool>> others;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const std::string& path = files[file].path;
    const bool is_other = is_about_others(path);
    const bool kernels = kernel_files.holds(file);
    if (is_other) others.emplace_back(path, kernels);
    if (says_nothing(path)) continue;
    const auto add_to = [&](Counts& counts) {
      each_folder(path, [&](std::string_view folder) {
        Count& count = counts[folder];
        ++count.files;
        count.kernels += kernels ? 1 : 0;
      });
    };
    add_to(all);
    if (!is_other) add_to(own);
  }
  kernel_folders = outermost(all);
  // What is tested in a folder whose own files are kernels to a third is kernels.
  const auto is_of_kernels = [&](std::string_view path) {
    bool found = false;
    each_folder(path, [&](std::string_view folder) {
      const auto count = own.find(folder);
      found |= count != own.end() && count->second.kernels >= kFewestFiles &&
               count->second.kernels * 3 >= count->second.files;
    });
    return found;
  };
  for (const auto& [path, kernels] : others)
    if (kernels || is_of_kernels(path)) kernel_tests.emplace_back(path);
}

}  // namespace torchport::flow
