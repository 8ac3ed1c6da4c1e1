#include <string>

#include <torchport/dtype.h>

namespace torchport {

std::string dtype_name(c10::ScalarType dtype) {
  if (dtype == c10::ScalarType::Undefined) return "undefined";
  return std::string(c10::getDtypeNames(dtype).first);
}

std::optional<c10::ScalarType> dtype_named(std::string_view name) {
  const auto& known = c10::getStringToDtypeMap();
  const auto found = known.find(std::string(name));
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace torchport
