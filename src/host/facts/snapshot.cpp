#include "host/facts/snapshot.h"

#include "host/facts/facts_members.h"
#include "json/members.h"

namespace torchport::host {

std::string to_json(const Facts& facts) {
  Facts copy = facts;
  return json::text_of(json::written(copy), 2);
}

base::Result<Facts> from_json(std::string_view text) {
  // The output of `doctor --json` has the facts beside the verdict.
  return json::read_document<Facts>(text, "facts", "a host");
}

}  // namespace torchport::host
