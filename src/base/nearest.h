// Names what was probably meant by a name that does not exist. Thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace torchport::base {

// The one of `names` that is nearest to `word` by letters, whatever their case; "" if more than two
// of its letters, and more than a third of them, differ. Of names as near as each other it is the
// first.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> names);

// `; did you mean "select"?`, or "" if nothing is near. It is the end of an error message.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> names);

}  // namespace torchport::base
