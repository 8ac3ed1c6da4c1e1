// Puts the texts of unit tests together from parts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace torchport::rules {

[[nodiscard]] inline std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace torchport::rules
