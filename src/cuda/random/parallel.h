// Work on parts of a range, by all threads of the host. What it computes may not depend on the
// parts.
#pragma once

#include <cstddef>
#include <functional>

namespace torchport::cuda_random {

// Calls work(first, last) for parts of [0, count) that have `least` elements or more.
void in_parallel(std::size_t count, std::size_t least,
                 const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace torchport::cuda_random
