// How many threads of the host work on something.
#pragma once

#include <cstddef>

namespace torchport::base {

// What OMP_NUM_THREADS says (at most 256), else the processors that this process may use; at least
// 1. Thread safe, as long as no thread changes the environment.
[[nodiscard]] std::size_t count_of_threads();

}  // namespace torchport::base
