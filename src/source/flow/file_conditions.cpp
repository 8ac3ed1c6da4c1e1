// Decides conditions on whole files: who imports a file, and who saves what it loads.
#include <algorithm>

#include "base/file_system.h"
#include "source/flow/joined.h"

namespace torchport::flow {

// An import runs the module's file, and those of the packages around it that do not contain the
// importer.
void Summary::Joined::link_care() {
  careless_imports.resize(files.size());
  any_import.assign(files.size(), 0);
  caught_import.assign(files.size(), 0);
  const auto contains = [&](std::uint32_t package, std::uint32_t file) {
    const std::string& inner = modules[file];
    const std::string& outer = modules[package];
    return inner.size() > outer.size() && inner[outer.size()] == '.' && inner.starts_with(outer);
  };
  KnownModules known(*this);
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const auto& caught = files[file].facts.whole.caught_imports;
    for (const Import& import : files[file].facts.imports) {
      const bool is_caught = std::find(caught.begin(), caught.end(), import.full) != caught.end();
      std::string_view module = known.of(file, import.full).name;
      while (!module.empty()) {
        for (const std::uint32_t other : files_of(module)) {
          if (other == file || contains(other, file)) continue;
          any_import[other] = 1;
          if (is_caught)
            caught_import[other] = 1;
          else
            careless_imports[file].push_back(other);
        }
        const auto dot = module.rfind('.');
        module = module.substr(0, dot == std::string_view::npos ? 0 : dot);
      }
    }
  }
}

// A file is imported with care if an import that the importer can do without leads to it, and none
// from a program does that has no such import on its way.
void Summary::Joined::settle_care() {
  with_care = caught_import;
  if (std::count(with_care.begin(), with_care.end(), 1) == 0) return;
  std::vector<char> careless(files.size(), 0);
  for (std::size_t file = 0; file < files.size(); ++file)
    careless[file] = any_import[file] == 0 || (file < doubted.size() && doubted[file] != 0) ? 1 : 0;
  spread(careless_imports, careless);
  spread(careless_imports, with_care);
  for (std::size_t file = 0; file < files.size(); ++file)
    if (careless[file] != 0) with_care[file] = 0;
}

bool Summary::Joined::imports_start_cuda(std::uint32_t file) const {
  std::vector<char> reached(files.size(), 0);
  reached[file] = 1;
  spread(imports_between(), reached);
  reached[file] = 0;
  for (std::size_t other = 0; other < files.size(); ++other)
    if (reached[other] != 0 && files[other].facts.whole.starts_cuda) return true;
  return false;
}

bool Summary::Joined::is_saved_from_cpu(std::string_view name) const {
  bool saved = false;
  for (const FileOfProject& file : files) {
    for (const SavedFile& written : file.facts.whole.saved) {
      if (written.name != name) continue;
      if (!written.from_cpu) return false;
      saved = true;
    }
  }
  return saved;
}

bool Summary::Joined::is_alone(std::uint32_t file) const {
  const std::string_view folder = base::parent_path(files[file].path);
  return std::count_if(files.begin(), files.end(), [&](const FileOfProject& other) {
           return base::parent_path(other.path) == folder;
         }) == 1;
}

}  // namespace torchport::flow
