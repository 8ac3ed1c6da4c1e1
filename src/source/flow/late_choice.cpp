// Finds the files that a program may run before one of its functions sets CUDA_VISIBLE_DEVICES, and
// whether a class has its own way to CUDA.
#include <algorithm>

#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

Edges reversed(const Edges& edges) {
  Edges result(edges.size());
  for (std::uint32_t from = 0; from < edges.size(); ++from)
    for (const std::uint32_t to : edges[from]) result[to].push_back(from);
  return result;
}

}  // namespace

// A program that sets the variable is a file that imports, directly or not, the function that does;
// all that such a file imports may run before. If the module's own code sets it, the file itself
// can ask after that, but not what it has imported before.
void Summary::Joined::settle_choices() {
  chosen_late.assign(files.size(), 0);
  for (std::size_t file = 0; file < files.size(); ++file)
    chosen_late[file] = files[file].facts.sets_visible_devices ? 1 : 0;
  const bool after_imports = std::any_of(files.begin(), files.end(), [](const FileOfProject& file) {
    return file.facts.sets_after_imports;
  });
  if (!after_imports && std::count(chosen_late.begin(), chosen_late.end(), 1) == 0) return;
  const Edges& edges = imports_between();
  spread(reversed(edges), chosen_late);
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (!files[file].facts.sets_after_imports) continue;
    for (const std::uint32_t imported : edges[file]) chosen_late[imported] = 1;
  }
  spread(edges, chosen_late);
}

void Summary::Joined::find_own_cuda_methods() {
  own_cuda_method = std::any_of(files.begin(), files.end(), [](const FileOfProject& file) {
    return std::any_of(file.facts.classes.begin(), file.facts.classes.end(), [&](const Class& one) {
      return file.facts.function_named(one.name, ".cuda").has_value();
    });
  });
}

bool Summary::has_own_cuda_method() const {
  return joined_->own_cuda_method;
}

bool Summary::chooses_devices_late(std::string_view path) const {
  const auto file = joined_->by_path.find(path);
  return file != joined_->by_path.end() && joined_->chosen_late[file->second] != 0;
}

}  // namespace torchport::flow
