// Finds which files import which.
#include "base/file_system.h"
#include "source/flow/joined.h"

namespace torchport::flow {

const Edges& Summary::Joined::imports_between() const {
  std::call_once(edges_made, [&] { import_edges = make_edges(); });
  return import_edges;
}

Edges Summary::Joined::make_edges() const {
  Edges edges(files.size());
  KnownModules known(*this);
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const auto add = [&](std::string_view name) {
      const auto owners = known.of(file, name).files;
      edges[file].insert(edges[file].end(), owners.begin(), owners.end());
    };
    const FileFacts& facts = files[file].facts;
    for (const Import& import : facts.imports) add(import.full);
    // Imports of functions are known by what is called.
    for (const std::string_view text : facts.texts)
      if (text.starts_with('@')) add(text.substr(1));
    // A module runs after its package's __init__.py.
    const std::string_view folder = base::parent_path(files[file].path);
    const std::string package = base::join_path(folder == "." ? "" : folder, "__init__.py");
    const auto found = by_path.find(package);
    if (found != by_path.end() && found->second != file) edges[file].push_back(found->second);
  }
  return edges;
}

void spread(const Edges& edges, std::vector<char>& marked) {
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t file = 0; file < marked.size(); ++file)
    if (marked[file] != 0) waiting.push_back(file);
  while (!waiting.empty()) {
    const std::uint32_t file = waiting.back();
    waiting.pop_back();
    for (const std::uint32_t next : edges[file]) {
      if (marked[next] != 0) continue;
      marked[next] = 1;
      waiting.push_back(next);
    }
  }
}

}  // namespace torchport::flow
