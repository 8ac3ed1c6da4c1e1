// The frame of every HTML page that C++ writes: one palette, light and dark, without scripts or
// requests (python/torchport/_pages has the frame, and Python's pages). Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace torchport::page {

// A whole page. `style` and `body` are CSS and HTML, and `title` is text without markup. None of
// them is searched for further places to fill.
[[nodiscard]] std::string framed(std::string_view title, std::string_view style,
                                 std::string_view body);

// A text as it stands in HTML, between tags or in an attribute in double quotes. Control characters
// become spaces. `text` must be valid UTF-8.
[[nodiscard]] std::string escape(std::string_view text);

}  // namespace torchport::page
