#include "source/project/verdicts.h"

#include <nlohmann/json.hpp>

namespace torchport::project {

namespace {

using Json = nlohmann::json;

// The positions of what is true.
Json positions_of(const std::vector<bool>& flags) {
  Json json = Json::array();
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) json.push_back(i);
  return json;
}

std::vector<bool> flags_at(const Json& positions, std::size_t count) {
  std::vector<bool> flags(count, false);
  for (const auto& position : positions) {
    if (!position.is_number_unsigned()) throw std::out_of_range("not a position");
    flags.at(position.get<std::size_t>()) = true;
  }
  return flags;
}

}  // namespace

std::string pack_verdicts(const Verdicts& verdicts) {
  const Json json{{"void", positions_of(verdicts.is_void)},
                  {"lowered", verdicts.lowered},
                  {"of", verdicts.is_void.size()},
                  {"folders", verdicts.kernel_folders},
                  {"tests", verdicts.kernel_tests}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool unpack_verdicts(std::string_view packed, Verdicts& verdicts) {
  constexpr std::size_t kMostFindings = 100'000'000;
  try {
    const auto json = Json::parse(packed);
    const auto& count = json.at("of");
    if (!count.is_number_unsigned() || count.get<std::size_t>() > kMostFindings) return false;
    verdicts.is_void = flags_at(json.at("void"), count.get<std::size_t>());
    json.at("lowered").get_to(verdicts.lowered);
    json.at("folders").get_to(verdicts.kernel_folders);
    json.at("tests").get_to(verdicts.kernel_tests);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace torchport::project
