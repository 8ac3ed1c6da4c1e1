// Memory of the host that becomes zeros without being written.
#pragma once

#include <cstddef>

namespace torchport::vdev {

// Makes the bytes zeros: whole pages are given back to the system and read as zeros, what is left
// at the ends is cleared. Returns whether the system took the pages. REQUIRED: the memory is
// writable, anonymous and this process's own, not that of a file.
bool give_pages_back(void* begin, std::size_t bytes);

}  // namespace torchport::vdev
