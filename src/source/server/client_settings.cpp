#include "source/server/client_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "source/project/config.h"

namespace torchport::server {

namespace {

constexpr std::array<std::string_view, 6> kNames{"unsafeFixes",   "inlayHints", "wholeProject",
                                                 "configuration", "select",     "ignore"};

// What an editor's extension keeps beside the server's settings: the program, and the log.
constexpr std::array<std::string_view, 2> kOfExtensions{"path", "trace"};

std::string_view nearest_name(std::string_view written) {
  return *std::min_element(
      kNames.begin(), kNames.end(), [&](std::string_view a, std::string_view b) {
        return base::edit_distance(written, a) < base::edit_distance(written, b);
      });
}

// What is wrong with the value; empty if it was taken.
std::string take_bool(bool& target, const Json& value) {
  if (!value.is_boolean()) return "must be true or false";
  target = value.get<bool>();
  return {};
}

std::string take_hints(InlayHints& target, const Json& value) {
  if (value == "off")
    target = InlayHints::kOff;
  else if (value == "cuda")
    target = InlayHints::kCuda;
  else if (value == "all")
    target = InlayHints::kAll;
  else
    return "must be \"off\", \"cuda\" or \"all\"";
  return {};
}

std::string take_rules(std::vector<std::string>& target, const Json& value) {
  const bool strings =
      value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
  if (!strings) return "must be a list of strings";
  auto words = value.get<std::vector<std::string>>();
  if (const auto known = project::select_rules(words, {}); !known) return known.error().message;
  target = std::move(words);
  return {};
}

std::string take(ClientSettings& settings, std::string_view name, const Json& value) {
  if (name == "unsafeFixes") return take_bool(settings.unsafe_fixes, value);
  if (name == "inlayHints") return take_hints(settings.inlay_hints, value);
  if (name == "wholeProject") return take_bool(settings.whole_project, value);
  if (name == "select") return take_rules(settings.select, value);
  if (name == "ignore") return take_rules(settings.ignore, value);
  if (!value.is_string()) return "must be the path of a file";
  settings.configuration = value.get<std::string>();
  return {};
}

}  // namespace

ReadSettings read_settings(const Json& json) {
  ReadSettings result;
  if (json.is_null()) return result;
  if (!json.is_object()) {
    result.complaints.emplace_back("The settings for torchport must be an object.");
    return result;
  }
  if (const auto own = json.find("torchport"); own != json.end()) return read_settings(*own);
  for (const auto& [name, value] : json.items()) {
    if (std::find(kOfExtensions.begin(), kOfExtensions.end(), name) != kOfExtensions.end())
      continue;
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
      result.complaints.push_back(fmt::format(
          "torchport has no setting \"{}\"; did you mean \"{}\"?", name, nearest_name(name)));
      continue;
    }
    if (value.is_null()) continue;
    if (const std::string wrong = take(result.settings, name, value); !wrong.empty())
      result.complaints.push_back(fmt::format("The setting torchport.{}: {}.", name, wrong));
  }
  return result;
}

}  // namespace torchport::server
