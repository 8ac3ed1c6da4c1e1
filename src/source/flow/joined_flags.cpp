// Finds the flags that conditions name.
#include <algorithm>

#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

constexpr int kMostLinks = 6;  // over imports and base classes

}  // namespace

bool Summary::Joined::is_flag(std::uint32_t file, std::string_view name) const {
  const std::string_view rest = name.substr(1);
  return name.front() == '=' ? has_flag(file, rest, 0) : imports_flag(file, rest, 0);
}

// Whether a name of a module, or an attribute of its class or of a base of that, is a flag.
bool Summary::Joined::has_flag(std::uint32_t file, std::string_view name, int hops) const {
  const FileFacts& facts = files[file].facts;
  if (std::binary_search(facts.cuda_flags.begin(), facts.cuda_flags.end(), name)) return true;
  if (hops >= kMostLinks) return false;
  const std::string_view first = name.substr(0, name.find('.'));
  const std::string rest(name.substr(first.size()));
  for (const Class& known : facts.classes) {
    if (known.name != first || rest.empty()) continue;
    const auto bases = FileFacts::part(facts.bases, known.bases);
    return std::any_of(bases.begin(), bases.end(), [&](std::string_view base) {
      return base.find('.') == std::string_view::npos
                 ? has_flag(file, std::string(base) + rest, hops + 1)
                 : imports_flag(file, std::string(base) + rest, hops + 1);
    });
  }
  const auto imported = facts.imported(first);
  return imported && imports_flag(file, std::string(*imported) + rest, hops + 1);
}

bool Summary::Joined::imports_flag(std::uint32_t from, std::string_view name, int hops) const {
  std::string own;
  const std::string_view full = full_name(from, name, own);
  const auto dot = full.rfind('.');
  if (dot == std::string_view::npos) return false;
  const Module module = module_in(full.substr(0, dot));
  return !module.files.empty() &&
         std::all_of(module.files.begin(), module.files.end(), [&](std::uint32_t owner) {
           return has_flag(owner, full.substr(module.name.size() + 1), hops + 1);
         });
}

// Whether a call of the project gives the parameter a value.
bool Summary::Joined::is_given(std::uint32_t function, std::string_view parameter) const {
  const FileFacts& facts = files[functions[function].file].facts;
  const auto names = FileFacts::part(facts.parameters, functions[function].facts->parameters);
  const auto is_named = [&](std::string_view wanted) {
    return [&facts, wanted](TextNumber name) { return facts.text(name) == wanted; };
  };
  const bool bound =
      !names.empty() && (is_named("self")(names.front()) || is_named("cls")(names.front()));
  const auto found = std::find_if(names.begin(), names.end(), is_named(parameter));
  const auto place = static_cast<std::size_t>(found - names.begin()) - (bound ? 1 : 0);
  const auto of_function = calls[function];
  return std::any_of(of_function.begin(), of_function.end(), [&](const CallOf& call) {
    const FileFacts& there = files[call.file].facts;
    const auto keywords = FileFacts::part(there.arguments, call.call->keywords);
    return call.call->unknown_arguments || call.call->positional.count > place ||
           std::any_of(keywords.begin(), keywords.end(), [&](const Argument& argument) {
             return there.text(argument.keyword) == parameter;
           });
  });
}

}  // namespace torchport::flow
