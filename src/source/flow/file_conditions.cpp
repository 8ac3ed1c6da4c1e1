// Decides conditions on whole files: who imports a file, and who saves what it loads.
#include <algorithm>

#include "base/file_system.h"
#include "source/flow/joined.h"

namespace torchport::flow {

// The files that an import runs: the module's, and those of the packages around it that do not
// contain the importer.
std::vector<std::uint32_t> Summary::Joined::run_by_import(std::uint32_t from,
                                                          std::string_view name) const {
  const std::string full = full_name(from, name);
  std::vector<std::uint32_t> found;
  for (std::string_view module = module_in(full).name; !module.empty();) {
    for (const std::uint32_t owner : files_of(module))
      if (owner != from && !modules[from].starts_with(modules[owner] + ".")) found.push_back(owner);
    const auto dot = module.rfind('.');
    module = module.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return found;
}

void Summary::Joined::link_care() {
  careless_imports.resize(files.size());
  any_import.assign(files.size(), 0);
  caught_import.assign(files.size(), 0);
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const auto& caught = files[file].facts.whole.caught_imports;
    for (const auto& import : files[file].facts.imports) {
      const bool is_caught = std::find(caught.begin(), caught.end(), import.second) != caught.end();
      for (const std::uint32_t other : run_by_import(file, import.second)) {
        any_import[other] = 1;
        if (is_caught)
          caught_import[other] = 1;
        else
          careless_imports[file].push_back(other);
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
