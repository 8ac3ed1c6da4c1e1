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
    return std::any_of(known.bases.begin(), known.bases.end(), [&](const std::string& base) {
      return base.find('.') == std::string::npos ? has_flag(file, base + rest, hops + 1)
                                                 : imports_flag(file, base + rest, hops + 1);
    });
  }
  const auto imported = imports[file].find(first);
  return imported != imports[file].end() &&
         imports_flag(file, std::string(imported->second) + rest, hops + 1);
}

bool Summary::Joined::imports_flag(std::uint32_t from, std::string_view name, int hops) const {
  const std::string full = full_name(from, name);
  // The longest front part that is a module decides.
  for (auto at = full.rfind('.'); at != std::string::npos && at > 0; at = full.rfind('.', at - 1)) {
    const auto& owners = files_of(std::string_view(full).substr(0, at));
    if (owners.empty()) continue;
    return std::all_of(owners.begin(), owners.end(), [&](std::uint32_t owner) {
      return has_flag(owner, std::string_view(full).substr(at + 1), hops + 1);
    });
  }
  return false;
}

// Whether a call of the project gives the parameter a value.
bool Summary::Joined::is_given(const FunctionOfProject& function, std::string_view parameter) {
  const auto& names = function.facts->parameters;
  const bool bound = !names.empty() && (names[0] == "self" || names[0] == "cls");
  const auto found = std::find(names.begin(), names.end(), parameter);
  const auto place = static_cast<std::size_t>(found - names.begin()) - (bound ? 1 : 0);
  return std::any_of(function.calls.begin(), function.calls.end(), [&](const CallOf& call) {
    return call.call->unknown_arguments || call.call->positional.size() > place ||
           std::any_of(call.call->keywords.begin(), call.call->keywords.end(),
                       [&](const auto& keyword) { return keyword.first == parameter; });
  });
}

}  // namespace torchport::flow
