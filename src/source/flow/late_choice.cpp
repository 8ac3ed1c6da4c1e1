// Finds the files that a program may run before one of its functions sets CUDA_VISIBLE_DEVICES, and
// what leaves on the CPU what is not on CUDA, and whether a class has its own way to CUDA.
#include <algorithm>
#include <unordered_set>

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

// Tensors of files that import each other, directly or not, may meet.
void Summary::Joined::find_cuda_or_cpu() {
  keeps_cuda_or_cpu.assign(files.size(), 0);
  chooses_cuda_or_cpu.assign(files.size(), 0);
  bool any = false;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const semantics::CudaOrCpu& found = files[file].facts.cuda_or_cpu;
    keeps_cuda_or_cpu[file] = found.keeps ? 1 : 0;
    chooses_cuda_or_cpu[file] = found.chooses ? 1 : 0;
    any |= found.keeps || found.chooses;
  }
  if (!any) return;
  Edges edges = imports_between();
  const Edges back = reversed(edges);
  for (std::size_t file = 0; file < edges.size(); ++file)
    edges[file].insert(edges[file].end(), back[file].begin(), back[file].end());
  spread(edges, keeps_cuda_or_cpu);
  spread(edges, chooses_cuda_or_cpu);
}

// A class with a `to` counts if it may have a `cuda` from elsewhere: it inherits from something, or
// something from it.
void Summary::Joined::find_own_cuda_methods() {
  std::unordered_set<std::string_view> inherited;
  for (const FileOfProject& file : files) {
    for (const std::string_view base : file.facts.bases) inherited.insert(last_part(base));
    for (const std::string& star : file.facts.whole.stars) stars.insert(last_part(star));
  }
  scripts = std::any_of(files.begin(), files.end(),
                        [](const FileOfProject& file) { return file.facts.whole.scripts; });
  own_cuda_method = std::any_of(files.begin(), files.end(), [&](const FileOfProject& file) {
    const auto moves_itself = [&](const Class& one) {
      if (file.facts.function_named(one.name, ".cuda")) return true;
      const auto bases = FileFacts::part(file.facts.bases, one.bases);
      return (!bases.empty() || inherited.contains(one.name)) &&
             file.facts.function_named(one.name, ".to").has_value();
    };
    return file.facts.whole.patches_moves ||
           std::any_of(file.facts.classes.begin(), file.facts.classes.end(), moves_itself);
  });
}

bool Summary::scripts_code() const {
  return joined_->scripts;
}

bool Summary::is_imported_by_star(std::string_view path) const {
  std::string_view name = base::file_name(path);
  if (!name.ends_with(".py")) return false;
  name.remove_suffix(3);
  // A package is named by its folder; a relative star of it has no name.
  const bool is_package = name == "__init__";
  if (is_package) name = base::file_name(base::parent_path(path));
  return joined_->stars.contains(name) || (is_package && joined_->stars.contains({}));
}

bool Summary::has_own_cuda_method() const {
  return joined_->own_cuda_method;
}

semantics::CudaOrCpu Summary::cuda_or_cpu(std::string_view path) const {
  const auto file = joined_->by_path.find(path);
  if (file == joined_->by_path.end()) return {};
  return {joined_->keeps_cuda_or_cpu[file->second] != 0,
          joined_->chooses_cuda_or_cpu[file->second] != 0};
}

bool Summary::chooses_devices_late(std::string_view path) const {
  const auto file = joined_->by_path.find(path);
  return file != joined_->by_path.end() && joined_->chosen_late[file->second] != 0;
}

}  // namespace torchport::flow
