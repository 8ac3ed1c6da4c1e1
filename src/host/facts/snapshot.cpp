#include "host/facts/snapshot.h"

#include "host/facts/facts_members.h"
#include "host/facts/json_members.h"

namespace torchport::host {

std::string to_json(const Facts& facts) {
  Facts copy = facts;
  return written(copy).dump(2, ' ', false, Json::error_handler_t::replace);
}

base::Result<Facts> from_json(std::string_view text) {
  // What `doctor --json` writes has the facts beside its verdict.
  return read_document<Facts>(text, "facts", "a host");
}

}  // namespace torchport::host
