// Structures as JSON and back: each names its members once, for both directions, in a function
// `members(structure, visit)` that argument-dependent lookup finds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"

namespace torchport::host {

using Json = nlohmann::ordered_json;

template <class T>
concept Structure = requires(T& value) { members(value, [](const char*, auto&) {}); };

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

template <class T>
Json written(T& value) {
  if constexpr (Structure<T>) {
    Json object = Json::object();
    members(value, [&](const char* name, auto& member) { object[name] = written(member); });
    return object;
  } else if constexpr (IsList<T>::value) {
    Json list = Json::array();
    for (auto& item : value) list.push_back(written(item));
    return list;
  } else {
    return value;
  }
}

// The first member that is of another type, by its path; empty where all are right. Members that
// are missing keep their value, unknown ones are left out.
template <class T>
std::string read(const Json& source, T& value, const std::string& path) {
  if constexpr (Structure<T>) {
    if (!source.is_object()) return path;
    std::string wrong;
    members(value, [&](const char* name, auto& member) {
      const auto found = source.find(name);
      if (wrong.empty() && found != source.end())
        wrong = read(*found, member, path.empty() ? name : path + "." + name);
    });
    return wrong;
  } else if constexpr (IsList<T>::value) {
    if (!source.is_array()) return path;
    for (const Json& item : source) {
      const std::string place = fmt::format("{}[{}]", path, value.size());
      const std::string wrong = read(item, value.emplace_back(), place);
      if (!wrong.empty()) return wrong;
    }
    return {};
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    if (!source.is_object()) return path;
    for (const auto& [name, item] : source.items()) {
      if (!item.is_string()) return path + "." + name;
      value[name] = item.template get<std::string>();
    }
    return {};
  } else {
    const bool fits =
        std::is_same_v<T, std::string>
            ? source.is_string()
            : (std::is_same_v<T, bool> ? source.is_boolean() : source.is_number_unsigned());
    if (!fits) return path;
    value = source.get<T>();
    return {};
  }
}

// A structure that is a document, or its member `inner` where it has one. kSyntax, with `what` it
// is not, or the member that is of another type.
template <class T>
base::Result<T> read_document(std::string_view text, const char* inner, std::string_view what) {
  const Json source = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!source.is_object())
    return base::fail(base::ErrorCode::kSyntax, fmt::format("is no JSON object of {}", what));
  const auto found = source.find(inner);
  T value;
  const std::string wrong = read(found == source.end() ? source : *found, value, {});
  if (!wrong.empty())
    return base::fail(base::ErrorCode::kSyntax,
                      fmt::format("\"{}\" is of another type than it has to be", wrong));
  return value;
}

}  // namespace torchport::host
