#include "json/members.h"

namespace torchport::json {

base::Result<Json> object_of(std::string_view text, const char* inner, std::string_view what) {
  Json source = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!source.is_object())
    return base::fail(base::ErrorCode::kSyntax, fmt::format("is not a JSON object of {}", what));
  const auto found = source.find(inner);
  if (found == source.end()) return source;
  return Json(*found);
}

tl::unexpected<base::Error> wrong_type(std::string_view path) {
  return base::fail(base::ErrorCode::kSyntax, fmt::format("\"{}\" has the wrong type", path));
}

std::string text_of(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace torchport::json
