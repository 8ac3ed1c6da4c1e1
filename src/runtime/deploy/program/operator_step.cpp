// Calls operators of the dispatcher.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "runtime/deploy/program/body.h"

namespace torchport::deploy {

namespace {

constexpr std::string_view kOperators = "torch.ops.";
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

// Operators with effects outside of the process: a file from a stranger must not write files or
// talk to other processes.
bool reaches_outside(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOutside{
      "aten::from_file", "c10d::",  "c10d_functional::", "_c10d_functional",
      "symm_mem::",      "image::", "torchport::",       "profiler::"};
  return std::any_of(kOutside.begin(), kOutside.end(),
                     [&](std::string_view outside) { return name.starts_with(outside); });
}

// "torch.ops.aten.add.Tensor" is aten::add with the overload "Tensor".
c10::OperatorHandle operator_named(std::string_view target) {
  target.remove_prefix(kOperators.size());
  const std::size_t space = target.find('.');
  const std::size_t last = target.rfind('.');
  if (space == std::string_view::npos || last == space)
    throw std::runtime_error("it is no name of an operator");
  const std::string name = std::string(target.substr(0, space)) +
                           "::" + std::string(target.substr(space + 1, last - space - 1));
  if (reaches_outside(name))
    throw std::runtime_error(name + " reaches files or other processes, which a program must not");
  const std::string_view overload = target.substr(last + 1);
  const auto found = c10::Dispatcher::singleton().findSchema(
      {name, overload == "default" ? std::string() : std::string(overload)});
  if (!found)
    throw std::runtime_error("this process has no operator " + name +
                             ": it is defined in Python, or in a library that is not loaded");
  return *found;
}

class OperatorStep final : public Step {
 public:
  OperatorStep(const Node& node, c10::Device device)
      : operator_(operator_named(node.target)), device_(device) {
    const auto& arguments = operator_.schema().arguments();
    sources_.resize(arguments.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      sources_[position(node.inputs[i].first, i)].operand = &node.inputs[i].second;
    for (std::size_t i = 0; i < arguments.size(); ++i) prepare(sources_[i], arguments[i]);
  }

  [[nodiscard]] std::vector<c10::IValue> run(const Values& values) const override {
    const auto& arguments = operator_.schema().arguments();
    torch::jit::Stack stack;
    stack.reserve(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      stack.push_back(source.operand == nullptr
                          ? source.constant
                          : typed(*source.operand, arguments[i], values, device_));
    }
    operator_.callBoxed(stack);
    return stack;
  }

 private:
  // Of one argument: the operand, or its value if that is the same in each run.
  struct Source {
    const Operand* operand = nullptr;
    c10::IValue constant;
  };

  [[nodiscard]] std::size_t position(const std::string& name, std::size_t otherwise) const {
    const auto& arguments = operator_.schema().arguments();
    if (name.empty() && otherwise < arguments.size()) return otherwise;
    const auto found =
        std::find_if(arguments.begin(), arguments.end(),
                     [&](const c10::Argument& argument) { return argument.name() == name; });
    if (found == arguments.end())
      throw std::runtime_error("this release of torch has no argument " + name + " there");
    return static_cast<std::size_t>(found - arguments.begin());
  }

  void prepare(Source& source, const c10::Argument& argument) const {
    if (source.operand == nullptr) {
      if (!argument.default_value() && argument.type()->kind() != c10::TypeKind::OptionalType)
        throw std::runtime_error("the argument " + argument.name() + " is missing");
      source.constant = argument.default_value().value_or(c10::IValue());
    } else if (is_constant(*source.operand)) {
      source.constant = typed(*source.operand, argument, {}, device_);
      source.operand = nullptr;
    }
  }

  c10::OperatorHandle operator_;
  c10::Device device_;
  std::vector<Source> sources_;
};

}  // namespace

std::unique_ptr<const Step> operator_step(const Node& node, c10::Device device) {
  if (!node.target.starts_with(kOperators) || node.target.starts_with(kHigherOrder)) return nullptr;
  return std::make_unique<OperatorStep>(node, device);
}

}  // namespace torchport::deploy
