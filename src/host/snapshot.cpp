#include "host/snapshot.h"

#include <fmt/format.h>

#include "host/facts_members.h"
#include "host/json_members.h"

namespace torchport::host {

std::string to_json(const Facts& facts) {
  Facts copy = facts;
  return written(copy).dump(2, ' ', false, Json::error_handler_t::replace);
}

base::Result<Facts> from_json(std::string_view text) {
  const Json source = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!source.is_object())
    return base::fail(base::ErrorCode::kSyntax, "is no JSON object of a host");
  // What `doctor --json` writes has the facts beside its verdict.
  const auto inner = source.find("facts");
  Facts facts;
  const std::string wrong = read(inner == source.end() ? source : *inner, facts, {});
  if (!wrong.empty())
    return base::fail(base::ErrorCode::kSyntax,
                      fmt::format("\"{}\" is of another type than it has to be", wrong));
  return facts;
}

}  // namespace torchport::host
