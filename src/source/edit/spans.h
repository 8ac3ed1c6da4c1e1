// Spans of a text that lie side by side, to ask for an offset without a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "base/text.h"

namespace torchport::edit {

// Those that lie in no other one, in source order.
[[nodiscard]] std::vector<base::Span> outermost(std::vector<base::Span> spans);

// Whether an offset is in one of these spans. REQUIRED: they are outermost().
[[nodiscard]] bool covers(const std::vector<base::Span>& spans, std::uint32_t offset);

}  // namespace torchport::edit
