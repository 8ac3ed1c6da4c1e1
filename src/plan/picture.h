// The picture of a device's memory over a run, as HTML around an SVG without text: it takes any
// width, and its letters stay readable. Thread safe.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace torchport::plan {

// The colours of what blocks hold, and the layout of the picture: CSS for a page.
[[nodiscard]] std::string picture_style();

// The class of the colour of what blocks hold: "k0" for parameters.
[[nodiscard]] std::string colour_of(std::string_view holds);

// `memory`: the bytes of the device. Empty if the device has no timeline.
[[nodiscard]] std::string picture_of(const Timeline& timeline, std::uint64_t memory);

}  // namespace torchport::plan
