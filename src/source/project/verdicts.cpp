#include "source/project/verdicts.h"

#include <nlohmann/json.hpp>

namespace torchport::project {

std::string pack_verdicts(const Verdicts& verdicts) {
  nlohmann::json json{{"void", nlohmann::json::array()},
                      {"of", verdicts.is_void.size()},
                      {"late", verdicts.visible_late},
                      {"folders", verdicts.kernel_folders},
                      {"tests", verdicts.kernel_tests}};
  for (std::size_t i = 0; i < verdicts.is_void.size(); ++i)
    if (verdicts.is_void[i]) json["void"].push_back(i);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool unpack_verdicts(std::string_view packed, Verdicts& verdicts) {
  constexpr std::size_t kMostFindings = 100'000'000;
  try {
    const auto json = nlohmann::json::parse(packed);
    const auto& count = json.at("of");
    if (!count.is_number_unsigned() || count.get<std::size_t>() > kMostFindings) return false;
    verdicts.is_void.assign(count.get<std::size_t>(), false);
    for (const auto& index : json.at("void")) {
      if (!index.is_number_unsigned()) return false;
      verdicts.is_void.at(index.get<std::size_t>()) = true;
    }
    json.at("late").get_to(verdicts.visible_late);
    json.at("folders").get_to(verdicts.kernel_folders);
    json.at("tests").get_to(verdicts.kernel_tests);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace torchport::project
