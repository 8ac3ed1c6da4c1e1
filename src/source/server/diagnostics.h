// Writes findings as the protocol's diagnostics.
#pragma once

#include <vector>

#include "source/server/analysis.h"

namespace torchport::server {

// The diagnostic of a finding.
[[nodiscard]] Json diagnostic_json(const rules::Finding& finding, const base::LineIndex& lines,
                                   base::Span span, Encoding encoding);
// The diagnostics of each part of the source.
[[nodiscard]] std::vector<Json> diagnostics_json(const Analysis& analysis, Encoding encoding);

}  // namespace torchport::server
