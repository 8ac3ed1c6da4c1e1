// What CUDA's operators say where the CPU's say the same in other words.
#pragma once

#include <string>
#include <string_view>

namespace torchport::vdev {

// CUDA's text for the CPU's text, `host`, of an operator (aten::trace); empty if there is no other.
// Thread safe.
[[nodiscard]] std::string text_of_cuda(const std::string& host, std::string_view op);

}  // namespace torchport::vdev
