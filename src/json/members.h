// Reads and writes structures as JSON where people write the JSON: recorded machines, inputs of
// builds.
//
// A structure names its members once, for both directions, in a function `members(structure,
// visit)` that argument-dependent lookup finds. A value that is read must have exactly the member's
// type, and an error names the member by its path: "gpus[1].name".
//
// nlohmann's NLOHMANN_DEFINE_TYPE_* macros were tried and rejected. They convert a wrong value
// (true and -1 become numbers, 1.5 becomes 1). They know a path only with JSON_DIAGNOSTICS, which
// makes every value of the program larger. In the version of Debian 12 they do not take
// ordered_json, so members would be written in another order than declared.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"

namespace torchport::json {

using Json = nlohmann::ordered_json;

template <class T>
concept Structure = requires(T& value) { members(value, [](const char*, auto&) {}); };

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

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
  } else if constexpr (IsOptional<T>::value) {
    return value ? written(*value) : Json();
  } else {
    return value;
  }
}

// Reads a value, and returns the path of the first member that has another type; empty if all are
// right. Missing members keep their value, unknown ones are ignored.
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
      if (!item.is_string()) return std::string(path).append(".").append(name);
      value[name] = item.template get<std::string>();
    }
    return {};
  } else if constexpr (IsOptional<T>::value) {
    return source.is_null() ? std::string() : read(source, value.emplace(), path);
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

// The JSON object in a document, or its member `inner` if it has one. Fails with kSyntax for text
// that is not a JSON object; `what` names the expected content in the message.
[[nodiscard]] base::Result<Json> object_of(std::string_view text, const char* inner,
                                           std::string_view what);
[[nodiscard]] tl::unexpected<base::Error> wrong_type(std::string_view path);

// Reads that object as a structure. kSyntax also names the first member that has another type.
template <class T>
base::Result<T> read_document(std::string_view text, const char* inner, std::string_view what) {
  const auto source = object_of(text, inner, what);
  if (!source) return tl::unexpected<base::Error>(source.error());
  T value;
  const std::string wrong = read(*source, value, {});
  if (!wrong.empty()) return wrong_type(wrong);
  return value;
}

// Writes JSON as text for files. Bytes that are not UTF-8 become U+FFFD. `indent` is the number of
// blanks per level; -1 writes one line.
[[nodiscard]] std::string text_of(const Json& value, int indent);

}  // namespace torchport::json
