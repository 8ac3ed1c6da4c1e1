// The text of a module for virtual devices: what NVRTC gives as PTX and as a cubin. It names the
// shared library that has the kernels.
#pragma once

#include <string>
#include <string_view>

namespace torchport::cuda {

inline constexpr std::string_view kLibraryMark = "// torchport-library: ";

std::string module_text(const std::string& library, int architecture);
// The library that a module's text names; empty if it names none.
std::string library_of(std::string_view text);

}  // namespace torchport::cuda
