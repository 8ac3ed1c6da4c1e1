#include "source/flow/packages.h"

#include "base/file_system.h"
#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

// The folder around a path in which the part `module` of it begins: "src/pkg" of src/pkg/sub/a.py
// for the part "pkg". Empty if no folder has that name.
std::string folder_named(std::string_view path, std::string_view module) {
  std::string found;
  for (std::string_view up = base::parent_path(path); up != "." && !up.empty() && up != "/";
       up = base::parent_path(up))
    if (base::file_name(up) == module) found = std::string(up);
  return found;
}

class ImportReader {
 public:
  explicit ImportReader(const Summary::Joined& joined) : joined_(joined) {}

  Packages read() {
    for (std::uint32_t file = 0; file < joined_.files.size(); ++file)
      for (const Import& import : joined_.files[file].facts.imports) add(file, import.full);
    return std::move(result_);
  }

 private:
  void add(std::uint32_t file, std::string_view name) {
    const std::string& path = joined_.files[file].path;
    const std::string_view top = name.substr(0, name.find('.'));
    if (name.starts_with('.')) {
      result_.members[path].relative = true;
      std::string_view folder = base::parent_path(path);
      for (std::size_t dots = name.find_first_not_of('.'); dots > 1 && dots != name.npos; --dots)
        folder = base::parent_path(folder);
      result_.folders.emplace(folder);
    } else if (std::string folder = folder_named(path, top); !folder.empty()) {
      result_.members[path].absolute = std::string(top);
      result_.folders.insert(std::move(folder));
    }
    add_target(file, name, top);
  }

  void add_target(std::uint32_t from, std::string_view name, std::string_view top) {
    std::string own;
    const auto [module, owners] = joined_.module_in(joined_.full_name(from, name, own));
    const bool alone = module.find('.') == std::string_view::npos;
    for (const std::uint32_t owner : owners) {
      const std::string& path = joined_.files[owner].path;
      const bool beside = base::parent_path(path) == base::parent_path(joined_.files[from].path);
      if (owner == from) continue;
      if (name.starts_with('.')) {
        result_.members[path].imported = true;
      } else if (alone) {
        result_.members[path].bare |= beside && base::file_name(path) != "__init__.py";
      } else if (std::string folder = folder_named(path, top); !folder.empty()) {
        result_.members[path].imported = true;
        result_.folders.insert(std::move(folder));
      }
    }
  }

  const Summary::Joined& joined_;
  Packages result_;
};

}  // namespace

Packages Summary::packages() const {
  return ImportReader(*joined_).read();
}

}  // namespace torchport::flow
