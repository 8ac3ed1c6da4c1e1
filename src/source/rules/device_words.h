// Finds out quickly whether a file can matter.
#pragma once

#include <string_view>

namespace torchport::rules {

// Whether a text contains torch, cuda, CUDA, nccl or pin_memory, which every rule needs, or a word
// of files that matter to others: multiprocessing, ProcessPool, os.fork, environ, "def to(".
[[nodiscard]] bool speaks_of_devices(std::string_view text);

}  // namespace torchport::rules
