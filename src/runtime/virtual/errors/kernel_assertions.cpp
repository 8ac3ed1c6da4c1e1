#include "runtime/virtual/errors/kernel_assertions.h"

#include <map>
#include <string>

namespace torchport::vdev {

namespace {

// A function, because it is used while the library's files are initialised. Constant afterwards.
std::map<std::string, const KernelAssertion*, std::less<>>& all_assertions() {
  static auto& all = *new std::map<std::string, const KernelAssertion*, std::less<>>();
  return all;
}

// "aten::scatter_" and "aten::scatter" have the same kernel.
std::string_view without_underscore(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

const c10::IValue& CallArguments::value(std::string_view name) const {
  static const auto& none = *new c10::IValue();
  const auto& arguments = schema_.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return values_[i];
  }
  return none;
}

at::Tensor CallArguments::tensor(std::string_view name) const {
  const c10::IValue& found = value(name);
  return found.isTensor() ? found.toTensor() : at::Tensor();
}

std::int64_t CallArguments::integer(std::string_view name, std::int64_t otherwise) const {
  const c10::IValue& found = value(name);
  return found.isNone() ? otherwise : found.toInt();
}

bool CallArguments::flag(std::string_view name) const {
  const c10::IValue& found = value(name);
  return found.isBool() && found.toBool();
}

KernelAssertion::KernelAssertion(std::string_view op, Find find, Results made)
    : find_(find), results_(made) {
  all_assertions().emplace(op, this);
}

const KernelAssertion* KernelAssertion::of(const c10::OperatorHandle& op) {
  const auto found = all_assertions().find(without_underscore(op.operator_name().name));
  return found == all_assertions().end() ? nullptr : found->second;
}

}  // namespace torchport::vdev
