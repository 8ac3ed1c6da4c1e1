// Finds the files and functions that names of a project mean.
#include <algorithm>

#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

constexpr int kMaxHops = 6;  // of a name that modules import from each other

// "a/b/c.py" -> "a.b.c", "a/b/__init__.py" -> "a.b"
std::string module_of(std::string_view path) {
  std::string name(path.substr(0, path.rfind('.')));
  if (name.ends_with("/__init__")) name.resize(name.size() - 9);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

void Summary::Joined::index_files() {
  modules.reserve(files.size());
  by_path.reserve(files.size());
  by_end.reserve(files.size() * 4);
  for (const FileOfProject& file : files) {
    by_path[file.path] = static_cast<std::uint32_t>(modules.size());
    modules.push_back(module_of(file.path));
  }
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const std::string_view module = modules[file];
    for (std::size_t start = 0; start != std::string_view::npos;
         start = module.find('.', start), start += start == std::string_view::npos ? 0 : 1) {
      const std::string_view rest = module.substr(start);
      by_end[rest].push_back(file);
      parts.insert(rest.substr(0, rest.find('.')));
    }
  }
}

void Summary::Joined::index_functions() {
  std::uint32_t number = 0;
  std::uint32_t call = 0;
  for (const FileOfProject& file : files) {
    first_function.push_back(number);
    first_call.push_back(call);
    number += static_cast<std::uint32_t>(file.facts.functions.size());
    call += static_cast<std::uint32_t>(file.facts.calls.size());
  }
  functions.reserve(number);
  refused.assign(call, 0);
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const FileFacts& facts = files[file].facts;
    for (const Function& function : facts.functions) {
      FunctionOfProject known;
      known.file = file;
      known.facts = &function;
      known.first_slot = slots;
      slots += function.parameters.count;
      const std::string_view name = facts.text(function.name);
      const bool first = &facts.functions[function.same_as] == &function;
      if (first && name.find('.') != std::string_view::npos) {
        const auto next = static_cast<std::uint32_t>(method_numbers.size());
        known.method = method_numbers.try_emplace(last_part(name), next).first->second;
        methods.add(known.method, static_cast<std::uint32_t>(functions.size()));
      }
      functions.push_back(known);
    }
    index_overrides(file);
  }
  methods.build(method_numbers.size());
  meanings.resize(files.size());
}

void Summary::Joined::index_overrides(std::uint32_t file) {
  const FileFacts& facts = files[file].facts;
  if (facts.classes.empty()) return;
  std::unordered_map<std::string_view, const Class*> classes;
  for (const Class& known : facts.classes) classes[known.name] = &known;
  for (const std::uint32_t index : facts.functions_by_name) {
    const std::string_view name = facts.text(facts.functions[index].name);
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos) continue;
    const auto holder = classes.find(last_part(name.substr(0, dot)));
    if (holder == classes.end()) continue;
    for (const std::string_view base : FileFacts::part(facts.bases, holder->second->bases))
      overrides[{last_part(base), name.substr(dot + 1)}].push_back(first_function[file] + index);
  }
}

const std::vector<std::uint32_t>& Summary::Joined::files_of(std::string_view module) const {
  static const std::vector<std::uint32_t> kNone;
  const auto found = by_end.find(module);
  return found == by_end.end() ? kNone : found->second;
}

Summary::Joined::Module Summary::Joined::module_in(std::string_view full) const {
  if (!parts.contains(full.substr(0, full.find('.')))) return {};
  for (auto end = full.size(); end != std::string_view::npos && end > 0;
       end = full.rfind('.', end - 1)) {
    const auto& owners = files_of(full.substr(0, end));
    if (!owners.empty()) return {full.substr(0, end), owners};
  }
  return {};
}

Summary::Joined::Module Summary::Joined::KnownModules::of(std::uint32_t from,
                                                          std::string_view name) {
  if (name.starts_with('.')) return joined_.module_in(joined_.full_name(from, name, own_));
  const auto [entry, fresh] = known_.try_emplace(name);
  if (fresh) entry->second = joined_.module_in(name);
  return entry->second;
}

void Summary::Joined::in_module(std::uint32_t file, std::string_view name, int hops,
                                std::vector<std::uint32_t>& found) const {
  const FileFacts& facts = files[file].facts;
  auto own = facts.function_named(name);
  if (!own) own = facts.function_named(name, ".__init__");
  if (own) {
    found.push_back(first_function[file] + *own);
    return;
  }
  const std::string_view first = name.substr(0, name.find('.'));
  const auto imported = facts.imported(first);
  if (!imported || hops >= kMaxHops) return;
  const std::string_view rest = name.substr(first.size());
  if (rest.empty())
    by_import(file, *imported, hops + 1, found);
  else
    by_import(file, std::string(*imported) + std::string(rest), hops + 1, found);
}

std::string_view Summary::Joined::full_name(std::uint32_t from, std::string_view name,
                                            std::string& own) const {
  if (!name.starts_with('.')) return name;
  std::string_view base = modules[from];
  std::size_t dots = name.find_first_not_of('.');
  if (dots == std::string_view::npos) return {};
  const std::string_view rest = name.substr(dots);
  // One dot is the folder of the file; a package's __init__ is its folder already.
  if (files[from].path.ends_with("__init__.py")) --dots;
  for (; dots > 0; --dots) {
    const auto at = base.rfind('.');
    base = base.substr(0, at == std::string_view::npos ? 0 : at);
  }
  if (base.empty()) return rest;
  own.assign(base).append(1, '.').append(rest);
  return own;
}

void Summary::Joined::by_import(std::uint32_t from, std::string_view name, int hops,
                                std::vector<std::uint32_t>& found) const {
  std::string own;
  const std::string_view full = full_name(from, name, own);
  const auto dot = full.rfind('.');
  if (dot == std::string_view::npos) return;
  const Module module = module_in(full.substr(0, dot));
  for (const std::uint32_t owner : module.files)
    in_module(owner, full.substr(module.name.size() + 1), hops, found);
}

void Summary::Joined::named(std::uint32_t file, std::string_view callee,
                            std::vector<std::uint32_t>& found) const {
  if (callee.front() == '=')
    in_module(file, callee.substr(1), 0, found);
  else
    by_import(file, callee.substr(1), 0, found);
}

Summary::Joined::Meaning Summary::Joined::find_meaning(std::uint32_t file,
                                                       std::string_view callee) {
  const std::string_view name = callee.substr(1);
  Meaning meaning{static_cast<std::uint32_t>(targets.size()), 0};
  if (callee.front() == '.') {
    const auto number = method_numbers.find(name);
    if (number != method_numbers.end()) return {number->second, Meaning::kMethod};
    return meaning;
  }
  const bool same_in_all_files = callee.front() == '@' && !name.starts_with('.');
  const auto known = same_in_all_files ? absolute.find(name) : absolute.end();
  if (known != absolute.end()) return known->second;
  named(file, callee, targets);
  meaning.count = static_cast<std::uint32_t>(targets.size()) - meaning.first;
  if (same_in_all_files) absolute.emplace(name, meaning);
  return meaning;
}

Summary::Joined::Meaning Summary::Joined::meaning_of(std::uint32_t file, TextNumber callee) {
  auto& known = meanings[file];
  if (known.empty()) known.resize(files[file].facts.texts.size());
  if (known[callee].count == Meaning::kUnknown)
    known[callee] = find_meaning(file, files[file].facts.text(callee));
  return known[callee];
}

std::span<const std::uint32_t> Summary::Joined::resolve(std::uint32_t file, TextNumber callee) {
  const Meaning meaning = meaning_of(file, callee);
  if (meaning.count == Meaning::kMethod) return methods[meaning.first];
  return std::span(targets).subspan(meaning.first, meaning.count);
}

}  // namespace torchport::flow
