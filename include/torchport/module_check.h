// Modules of C++ whose members and registry have parted.
//
// A C++ module keeps each tensor twice: as a member, which forward() reads, and in the registry,
// which to(), save() and parameters() see. Both are one tensor until somebody assigns to the
// member:
//
//   net->fc->weight = net->fc->weight.to(torch::kCUDA);   // the registry still has the old one
//
// From then on the optimizer trains a tensor that nobody computes with. And two names that were one
// tensor (an embedding and the head over it) can become two. Both are found here, with names.
#pragma once

#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torchport/export.h>

namespace torchport {

// Something wrong with a module's tensors.
struct ModuleFinding {
  enum class Kind : char {
    kReplaced,      // a member is another tensor than the registered one
    kUnregistered,  // a member is a tensor that the registry does not have under its name
    kUntied,        // two names that were one tensor are two
  };
  Kind kind;
  std::string name;  // of the tensor, from the root: "fc.weight"
  std::string message;
};

// A member of a module and the name that it is registered under.
struct ModuleMember {
  std::string name;
  at::Tensor tensor;
};

// A member whose name in the registry is its own: TORCHPORT_MEMBER(weight).
#define TORCHPORT_MEMBER(member) \
  ::torchport::ModuleMember {    \
    #member, member              \
  }

// What a module derives from, beside torch::nn::Module, so that check_module() sees its members.
class ListsMembers {
 public:
  ListsMembers() = default;
  ListsMembers(const ListsMembers&) = default;
  ListsMembers& operator=(const ListsMembers&) = default;
  virtual ~ListsMembers() = default;
  // return {TORCHPORT_MEMBER(weight), {"bias", bias_}};
  [[nodiscard]] virtual std::vector<ModuleMember> torchport_members() const = 0;
};

// Members of torch's own layers, and of modules that name theirs alike: weight, bias, running_mean,
// running_var, num_batches_tracked. Such as a module does not have are left out.
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

// Compares members with what `module` has registered under their names. Reads only.
[[nodiscard]] TORCHPORT_API std::vector<ModuleFinding> check_members(
    const torch::nn::Module& module, const std::vector<ModuleMember>& members);

// The same for `module` and all under it that derive from ListsMembers.
[[nodiscard]] TORCHPORT_API std::vector<ModuleFinding> check_module(
    const torch::nn::Module& module);

// Names of parameters and buffers that are one tensor: one object, or one view of one storage.
class TORCHPORT_API SharedParameters {
 public:
  explicit SharedParameters(const torch::nn::Module& module);

  [[nodiscard]] const std::vector<std::vector<std::string>>& groups() const { return groups_; }
  // Names that were one tensor with the first of their group, and are another in `module` now.
  [[nodiscard]] std::vector<ModuleFinding> broken(const torch::nn::Module& module) const;

 private:
  std::vector<std::vector<std::string>> groups_;
};

}  // namespace torchport
