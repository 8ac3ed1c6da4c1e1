#include <map>

#include "runtime/deploy/engines/engine.h"

namespace torchport::deploy {

namespace {

// Created at the first registration: the order in which files are initialised is unspecified.
std::map<std::string_view, EngineFormat>& formats() {
  static std::map<std::string_view, EngineFormat> all;
  return all;
}

}  // namespace

EngineRegistration::EngineRegistration(EngineFormat format) {
  formats().emplace(format.name, format);
}

const EngineFormat* find_engine(std::string_view format) {
  const auto found = formats().find(format);
  return found == formats().end() ? nullptr : &found->second;
}

std::string engine_formats() {
  std::string names;
  std::size_t left = formats().size();
  for (const auto& [name, format] : formats()) {
    --left;
    names.append(name).append(left > 1 ? ", " : left == 1 ? " or " : "");
  }
  return names;
}

}  // namespace torchport::deploy
