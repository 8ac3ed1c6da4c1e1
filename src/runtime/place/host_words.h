// What torchport doctor says of the machine that this program runs on.
#pragma once

#include <string>

namespace torchport {

// Why this torch uses no accelerator, with its remedy; empty where the machine gives no reason.
[[nodiscard]] std::string host_words();

}  // namespace torchport
