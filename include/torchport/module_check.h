// Finds C++ modules whose members and registry hold different tensors.
//
// A C++ module keeps each tensor twice: as a member, which forward() reads, and in the registry,
// which to(), save() and parameters() see. Both are one tensor until somebody assigns to the
// member:
//
//   net->fc->weight = net->fc->weight.to(torch::kCUDA);   // the registry still has the old one
//
// From then on the optimizer trains a tensor that no computation uses. In the same way two names
// that were one tensor (an embedding and the output layer that shares its weight) can become two.
// torch reports neither. The checks here only read, and need the module to be unchanged by other
// threads while they run.
#pragma once

#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torchport/export.h>

namespace torchport {

// One inconsistency among a module's tensors.
struct ModuleFinding {
  enum class Kind : char {
    kReplaced,      // the member and the registered tensor differ
    kUnregistered,  // the registry has no tensor under the member's name
    kUntied,        // two names that were one tensor are two now
  };
  Kind kind;
  std::string name;  // of the tensor, starting at the root module: "fc.weight"
  std::string message;
};

// A tensor member of a module, with the name under which it is registered.
struct ModuleMember {
  std::string name;
  at::Tensor tensor;
};

// Names a member that is registered under its own name: TORCHPORT_MEMBER(weight).
#define TORCHPORT_MEMBER(member) \
  ::torchport::ModuleMember {    \
    #member, member              \
  }

// The interface that a module implements, beside torch::nn::Module, so that check_module() sees its
// members. C++ has no reflection, so the module has to list them.
class ListsMembers {
 public:
  ListsMembers() = default;
  ListsMembers(const ListsMembers&) = default;
  ListsMembers& operator=(const ListsMembers&) = default;
  virtual ~ListsMembers() = default;
  // Lists all tensor members: return {TORCHPORT_MEMBER(weight), {"bias", bias_}};
  [[nodiscard]] virtual std::vector<ModuleMember> torchport_members() const = 0;
};

// Lists the members weight, bias, running_mean, running_var and num_batches_tracked of a module,
// which are those of torch's own layers. Members that `module` does not have, and undefined
// tensors, are left out.
template <class Module>
[[nodiscard]] std::vector<ModuleMember> members_of(const Module& module) {
  std::vector<ModuleMember> members;
  const auto add = [&members](const char* name, const at::Tensor& tensor) {
    if (tensor.defined()) members.push_back({name, tensor});
  };
  if constexpr (requires { add("", module.weight); }) add("weight", module.weight);
  if constexpr (requires { add("", module.bias); }) add("bias", module.bias);
  if constexpr (requires { add("", module.running_mean); })
    add("running_mean", module.running_mean);
  if constexpr (requires { add("", module.running_var); }) add("running_var", module.running_var);
  if constexpr (requires { add("", module.num_batches_tracked); })
    add("num_batches_tracked", module.num_batches_tracked);
  return members;
}

// Compares members with the tensors that `module` has registered under their names. Returns one
// finding per member that differs.
[[nodiscard]] TORCHPORT_API std::vector<ModuleFinding> check_members(
    const torch::nn::Module& module, const std::vector<ModuleMember>& members);

// Does the same for `module` and for each of its submodules that derives from ListsMembers.
[[nodiscard]] TORCHPORT_API std::vector<ModuleFinding> check_module(
    const torch::nn::Module& module);

// Remembers which names of parameters and buffers are one tensor (one object, or the same view of
// one storage). Make it before the step that may break the sharing, and call broken() afterwards.
class TORCHPORT_API SharedParameters {
 public:
  explicit SharedParameters(const torch::nn::Module& module);

  [[nodiscard]] const std::vector<std::vector<std::string>>& groups() const { return groups_; }
  // One finding for each name that was one tensor with the first name of its group and is a
  // different one in `module` now.
  [[nodiscard]] std::vector<ModuleFinding> broken(const torch::nn::Module& module) const;

 private:
  std::vector<std::vector<std::string>> groups_;
};

}  // namespace torchport
