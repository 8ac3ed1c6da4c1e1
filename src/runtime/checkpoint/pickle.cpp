#include "runtime/checkpoint/pickle.h"

#include <algorithm>
#include <unordered_set>

namespace torchport::checkpoint {

std::string Pickle::name_of(Ref ref) const {
  if (ref >= objects_.size() || objects_[ref].type != Type::kGlobal) return {};
  std::string name = objects_[ref].text;
  std::replace(name.begin(), name.end(), ' ', '.');
  // Protocol 2 writes the module names of Python 2, which unpicklers translate.
  for (const auto& [old, now] :
       {std::pair<std::string_view, std::string_view>{"__builtin__.", "builtins."},
        {"copy_reg.", "copyreg."}})
    if (name.starts_with(old)) name.replace(0, old.size(), now);
  return name == "builtins.xrange" ? "builtins.range" : name;
}

std::vector<std::string> Pickle::globals() const {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (Ref ref = 0; ref < objects_.size(); ++ref) {
    if (objects_[ref].type != Type::kGlobal) continue;
    std::string name = name_of(ref);
    if (seen.insert(name).second) names.push_back(std::move(name));
  }
  return names;
}

Ref Pickle::find(const Object& dict, std::string_view key) const {
  for (const auto& [name, value] : dict.entries) {
    const Object& object = objects_[name];
    if (object.type == Type::kString && object.text == key) return value;
  }
  return kNoRef;
}

}  // namespace torchport::checkpoint
