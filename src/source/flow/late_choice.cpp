// Finds the files that a program may run before one of its functions sets CUDA_VISIBLE_DEVICES.
#include <algorithm>

#include "base/file_system.h"
#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

using Edges = std::vector<std::vector<std::uint32_t>>;  // by file

// Which files each file imports, directly.
Edges imports_between(const Summary::Joined& joined) {
  Edges edges(joined.files.size());
  for (std::uint32_t file = 0; file < joined.files.size(); ++file) {
    const auto add = [&](std::string_view name) {
      const std::string full = joined.full_name(file, name);
      const auto module = joined.module_in(full);
      edges[file].insert(edges[file].end(), module.files.begin(), module.files.end());
    };
    const FileFacts& facts = joined.files[file].facts;
    for (const auto& import : facts.imports) add(import.second);
    // Imports of functions are known by what is called.
    for (const Call& call : facts.calls)
      if (call.callee.starts_with('@')) add(std::string_view(call.callee).substr(1));
    // A module runs after its package's __init__.py.
    const std::string_view folder = base::parent_path(joined.files[file].path);
    const std::string package = base::join_path(folder == "." ? "" : folder, "__init__.py");
    const auto found = joined.by_path.find(package);
    if (found != joined.by_path.end() && found->second != file)
      edges[file].push_back(found->second);
  }
  return edges;
}

Edges reversed(const Edges& edges) {
  Edges result(edges.size());
  for (std::uint32_t from = 0; from < edges.size(); ++from)
    for (const std::uint32_t to : edges[from]) result[to].push_back(from);
  return result;
}

// Marks everything that the edges lead to from what is marked.
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

}  // namespace

// A program that sets the variable is a file that imports, directly or not, the function that does;
// all that such a file imports may run before.
void Summary::Joined::settle_choices() {
  chosen_late.assign(files.size(), 0);
  for (std::size_t file = 0; file < files.size(); ++file)
    chosen_late[file] = files[file].facts.sets_visible_devices ? 1 : 0;
  if (std::count(chosen_late.begin(), chosen_late.end(), 1) == 0) return;
  const Edges edges = imports_between(*this);
  spread(reversed(edges), chosen_late);
  spread(edges, chosen_late);
}

bool Summary::chooses_devices_late(std::string_view path) const {
  const auto file = joined_->by_path.find(path);
  return file != joined_->by_path.end() && joined_->chosen_late[file->second] != 0;
}

}  // namespace torchport::flow
