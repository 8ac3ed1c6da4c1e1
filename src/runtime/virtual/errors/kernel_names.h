// Puts the names of CUDA's kernels in the place of the CPU's in texts of errors: a kernel that
// refuses a type says its own name ("frac_cpu" not implemented for 'Bool').
#pragma once

#include <string>
#include <string_view>

namespace torchport::vdev {

// The name that CUDA's kernel has where the CPU's has `name`, when `op` (aten::frac) refuses a
// type. Most differ in "cpu" and "cuda" alone; those that do not are in a table.
[[nodiscard]] std::string name_of_cuda_kernel(std::string_view name, std::string_view op);

// Throws the exception that is being handled again, with CUDA's names, if its text has a name of a
// kernel of the CPU and the devices are CUDA's. Else returns.
void rethrow_with_names_of_device(std::string_view op);

}  // namespace torchport::vdev
