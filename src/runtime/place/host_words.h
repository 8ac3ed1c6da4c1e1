// Explains, in the words of `torchport doctor`, why this machine has no usable accelerator. It
// keeps host/causes out of the headers of placement.
#pragma once

#include <string>

namespace torchport {

// Why this torch uses no accelerator, with the remedy; empty if the machine gives no reason.
[[nodiscard]] std::string host_words();

}  // namespace torchport
