// Messages to the user on standard error. They never end the program: its stream may be closed or
// full, and what the program does is worth more than the message.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace torchport::base {

// Writes a message, as far as it can be written. Does not throw for what the stream refuses.
template <class... Args>
void tell(fmt::format_string<Args...> text, Args&&... args) {
  const std::string message = fmt::format(text, std::forward<Args>(args)...);
  (void)std::fwrite(message.data(), 1, message.size(), stderr);
}

// Opens /dev/null for each of the three standard streams that is closed: otherwise the next file
// that is opened is written to as if it were that stream. A program that this one becomes by exec
// finds them closed.
void keep_standard_streams();

}  // namespace torchport::base
