#include "source/server/method.h"

#include <map>

namespace torchport::server {

namespace {

std::map<std::string_view, Method>& methods() {
  static std::map<std::string_view, Method> known;
  return known;
}

}  // namespace

MethodRegistration::MethodRegistration(Method method) {
  methods().emplace(method.name, method);
}

const Method* find_method(std::string_view name) {
  const auto found = methods().find(name);
  return found == methods().end() ? nullptr : &found->second;
}

}  // namespace torchport::server
