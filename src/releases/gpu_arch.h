// Reads and writes compute capabilities as builds of extensions name them: TORCH_CUDA_ARCH_LIST,
// nvcc's -gencode. The table (table.h) has the architectures, their names, and which CUDA compiles
// for them. All functions are thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::releases {

struct GpuArch {
  int number = 0;      // 86 for compute capability 8.6
  std::string suffix;  // "a": for exactly this architecture; "f": for its family; usually empty
  bool ptx = false;    // with its PTX, which the driver compiles for newer devices
  bool operator==(const GpuArch&) const = default;
};

// "8.6+PTX", as in TORCH_CUDA_ARCH_LIST.
[[nodiscard]] std::string to_text(const GpuArch& arch);
// "7.5;8.0+PTX", with semicolons, which every reader of the variable accepts.
[[nodiscard]] std::string to_text(const std::vector<GpuArch>& archs);
// "-gencode=arch=compute_86,code=sm_86", and another one for PTX.
[[nodiscard]] std::vector<std::string> gencode(const std::vector<GpuArch>& archs);
// For CMAKE_CUDA_ARCHITECTURES: "80-real;86".
[[nodiscard]] std::string cmake_architectures(const std::vector<GpuArch>& archs);

// The architectures that an nvcc compiles for.
class NvccArchs {
 public:
  // `listed` is what the nvcc lists itself ("sm_75", ...). If it is empty, because nvcc was not
  // asked or is too old to answer, the list of its CUDA release is used.
  NvccArchs(std::string_view nvcc, const std::vector<std::string>& listed);

  [[nodiscard]] bool makes(const GpuArch& arch) const;
  [[nodiscard]] const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::string nvcc_;
  std::vector<int> numbers_;  // ascending
};

// The CUDA releases that compile for this architecture, in words: "from CUDA 12.8 on", "up to CUDA
// 12.9"; empty for an unknown one.
[[nodiscard]] std::string releases_for(int number);

// 86 for "8.6"; 0 for another form.
[[nodiscard]] int number_of(std::string_view capability);

// The newest release of torch with a build that has code for a device of this compute capability.
struct LastBuild {
  std::string torch;  // "2.7.1"; empty if there is none or it is unknown
  std::string cuda;   // of that build: "11.8"; empty if the table does not have the release
};
[[nodiscard]] LastBuild last_build_for(std::string_view capability);
// The major version of NVIDIA's last driver for such a device; 0 if newer ones support it or that
// is unknown.
[[nodiscard]] int last_driver_for(std::string_view capability);

// The content of TORCH_CUDA_ARCH_LIST. `native` and `Auto` ask for the GPU of the building machine,
// which must not decide a build: they set `asks_for_gpu` and add no architecture.
struct ArchList {
  // Without duplicates, ascending; for names, those that this nvcc supports.
  std::vector<GpuArch> archs;
  // For names, those that it does not support: "Blackwell: 10.3".
  std::vector<std::string> left_out;
  bool asks_for_gpu = false;
};
// Reads a list. Separators are semicolons, commas and blanks. Names ("Ampere", "Hopper+PTX", "All",
// "Common") stand for the architectures of theirs that this nvcc supports. Fails with kUsage for a
// word that is not an architecture, and for one that nvcc does not support: what the user asked for
// is not dropped silently.
[[nodiscard]] base::Result<ArchList> parse_arch_list(std::string_view text, const NvccArchs& nvcc);

// Removes duplicates and sorts; PTX is kept if any duplicate has it.
[[nodiscard]] std::vector<GpuArch> merged(std::vector<GpuArch> archs);

}  // namespace torchport::releases
