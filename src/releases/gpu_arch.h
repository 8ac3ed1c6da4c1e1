// Compute capabilities as builds of extensions name them: TORCH_CUDA_ARCH_LIST, nvcc's -gencode.
// Only gpu_arch.cpp says which CUDA compiles for which of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::releases {

struct GpuArch {
  int number = 0;      // 86 for compute capability 8.6
  std::string suffix;  // "a": for this very architecture; "f": for its family; mostly empty
  bool ptx = false;    // with PTX of it, which newer devices compile for themselves
  bool operator==(const GpuArch&) const = default;
};

// "8.6+PTX", as TORCH_CUDA_ARCH_LIST has it.
[[nodiscard]] std::string to_text(const GpuArch& arch);
// "7.5;8.0+PTX": separated by semicolons, which is what every reader of the variable takes.
[[nodiscard]] std::string to_text(const std::vector<GpuArch>& archs);
// "-gencode=arch=compute_86,code=sm_86", and one more for PTX.
[[nodiscard]] std::vector<std::string> gencode(const std::vector<GpuArch>& archs);
// For CMAKE_CUDA_ARCHITECTURES: "80-real;86".
[[nodiscard]] std::string cmake_architectures(const std::vector<GpuArch>& archs);

// What an nvcc makes code for.
class NvccArchs {
 public:
  // `listed`: what it says itself ("sm_75", ...); empty for one that was not asked, or is too old
  // to answer. Then the CUDA release's own list counts.
  NvccArchs(std::string_view nvcc, const std::vector<std::string>& listed);

  [[nodiscard]] bool makes(const GpuArch& arch) const;
  [[nodiscard]] const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::string nvcc_;
  std::vector<int> numbers_;  // ascending
};

// The CUDA releases that make code for this one, in words: "from CUDA 12.8 on", "up to CUDA 12.9";
// empty for one that is not known.
[[nodiscard]] std::string releases_for(int number);

// What TORCH_CUDA_ARCH_LIST says. `native` and `Auto` ask for the GPU of the building machine,
// which is no matter of a build: `asks_for_gpu` is set, and they bring no architecture.
struct ArchList {
  std::vector<GpuArch> archs;         // each once, ascending; of names those that this nvcc makes
  std::vector<std::string> left_out;  // of names: "Blackwell: 10.3"
  bool asks_for_gpu = false;
};
// Separators: semicolons, commas, blanks. Names ("Ampere", "Hopper+PTX", "All", "Common") stand for
// what this nvcc makes of them. kUsage for what is no architecture, and for one that nvcc does not
// make: what was asked for is not left out in silence.
[[nodiscard]] base::Result<ArchList> parse_arch_list(std::string_view text, const NvccArchs& nvcc);

// Each once, ascending; PTX where any of them has it.
[[nodiscard]] std::vector<GpuArch> merged(std::vector<GpuArch> archs);

}  // namespace torchport::releases
