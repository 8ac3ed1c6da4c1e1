// The texts of errors of CUDA's runtime, as PyTorch raises them.
#pragma once

#include <string>
#include <string_view>

namespace torchport::devices {

// The message of c10/cuda/CUDAException.cpp for the error `name` (cudaErrorAssert), which
// cudaGetErrorString() calls `text`. `help` is that of get_cuda_error_help() in
// c10/cuda/CUDAMiscFunctions.cpp, a line or nothing. `at_once`: with CUDA_LAUNCH_BLOCKING=1,
// get_cuda_check_suffix() there adds nothing.
[[nodiscard]] std::string cuda_error_text(std::string_view text, std::string_view help,
                                          std::string_view name, bool at_once);

}  // namespace torchport::devices
