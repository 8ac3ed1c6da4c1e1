#include <map>
#include <tuple>

#include <fmt/format.h>
#include <torchport/module_check.h>

namespace torchport {

namespace {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Lists parameters and buffers under each of their names. Module::named_parameters() visits a
// module once, but lists a tensor that two modules hold twice.
NamedTensors tensors_of(const torch::nn::Module& module) {
  NamedTensors all;
  for (const auto& item : module.named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

std::string dtype_and_device(const at::Tensor& tensor) {
  return fmt::format("{} on {}", c10::toString(tensor.scalar_type()), tensor.device().str());
}

bool is_same_view(const at::Tensor& one, const at::Tensor& two) {
  if (one.is_same(two)) return true;
  return one.has_storage() && two.has_storage() && one.is_alias_of(two) &&
         one.storage_offset() == two.storage_offset() && one.sizes() == two.sizes() &&
         one.strides() == two.strides();
}

void check_member(const std::string& prefix, const NamedTensors& registered,
                  const ModuleMember& member, std::vector<ModuleFinding>& findings) {
  if (!member.tensor.defined()) return;
  for (const auto& [name, tensor] : registered) {
    if (name != member.name) continue;
    if (member.tensor.is_same(tensor)) return;
    findings.push_back(
        {ModuleFinding::Kind::kReplaced, prefix + name,
         fmt::format(
             "the member ({}) and the registered tensor ({}) are different tensors: forward() "
             "computes with one that to(), save() and the optimizer do not see. Move modules with "
             "to(), write values with copy_(), or assign through named_parameters()",
             dtype_and_device(member.tensor), dtype_and_device(tensor))});
    return;
  }
  findings.push_back(
      {ModuleFinding::Kind::kUnregistered, prefix + member.name,
       fmt::format("the member ({}) is not registered, so it is neither moved nor saved. Register "
                   "it with register_parameter() or register_buffer()",
                   dtype_and_device(member.tensor))});
}

NamedTensors own_tensors(const torch::nn::Module& module) {
  NamedTensors own;
  for (const auto& item : module.named_parameters(/*recurse=*/false))
    own.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers(/*recurse=*/false))
    own.emplace_back(item.key(), item.value());
  return own;
}

void check_into(const std::string& prefix, const torch::nn::Module& module,
                const std::vector<ModuleMember>& members, std::vector<ModuleFinding>& findings) {
  const NamedTensors registered = own_tensors(module);
  for (const ModuleMember& member : members) check_member(prefix, registered, member, findings);
}

void walk(const std::string& prefix, const torch::nn::Module& module,
          std::vector<ModuleFinding>& findings) {
  if (const auto* lists = dynamic_cast<const ListsMembers*>(&module))
    check_into(prefix, module, lists->torchport_members(), findings);
  for (const auto& child : module.named_children())
    walk(prefix + child.key() + ".", *child.value(), findings);
}

}  // namespace

std::vector<ModuleFinding> check_members(const torch::nn::Module& module,
                                         const std::vector<ModuleMember>& members) {
  std::vector<ModuleFinding> findings;
  check_into("", module, members, findings);
  return findings;
}

std::vector<ModuleFinding> check_module(const torch::nn::Module& module) {
  std::vector<ModuleFinding> findings;
  walk("", module, findings);
  return findings;
}

SharedParameters::SharedParameters(const torch::nn::Module& module) {
  NamedTensors firsts;
  for (const auto& [name, tensor] : tensors_of(module)) {
    if (!tensor.defined() || tensor.numel() == 0) continue;
    std::size_t group = 0;
    while (group < firsts.size() && !is_same_view(firsts[group].second, tensor)) ++group;
    if (group == firsts.size()) {
      firsts.emplace_back(name, tensor);
      groups_.emplace_back();
    }
    groups_[group].push_back(name);
  }
  std::erase_if(groups_, [](const auto& names) { return names.size() < 2; });
}

std::vector<ModuleFinding> SharedParameters::broken(const torch::nn::Module& module) const {
  std::map<std::string, at::Tensor> now;
  for (const auto& [name, tensor] : tensors_of(module)) now.emplace(name, tensor);
  std::vector<ModuleFinding> findings;
  for (const auto& group : groups_) {
    const auto first = now.find(group.front());
    for (const std::string& name : group) {
      const auto other = now.find(name);
      if (first == now.end() || other == now.end() || is_same_view(first->second, other->second))
        continue;
      findings.push_back(
          {ModuleFinding::Kind::kUntied, name,
           fmt::format("was the same tensor as {} and is now a different one ({}; {}: {}): they "
                       "are trained separately",
                       first->first, dtype_and_device(other->second), first->first,
                       dtype_and_device(first->second))});
    }
  }
  return findings;
}

}  // namespace torchport
