// Runs with two virtual CUDA devices: see src/runtime/virtual/CMakeLists.txt.
#include "runtime/virtual/errors/kernel_names.h"

#include <c10/util/Exception.h>
#include <doctest/doctest.h>

namespace torchport::vdev {

namespace {

// What is raised in the place of an exception.
template <class Error>
std::string renamed(const char* text) {
  try {
    try {
      throw Error({"renamed", __FILE__, static_cast<std::uint32_t>(__LINE__)}, text);
    } catch (...) {
      rethrow_with_names_of_device("aten::frac");
    }
  } catch (const Error& error) {
    return error.msg();
  }
  return "as it was";
}

}  // namespace

TEST_CASE("a kernel that refuses a type has CUDA's name") {
  CHECK(renamed<c10::NotImplementedError>("\"frac_cpu\" not implemented for 'Bool'") ==
        "\"frac_cuda\" not implemented for 'Bool'");
  CHECK(renamed<c10::NotImplementedError>("\"lt_cpu\" not implemented for 'Half'") ==
        "\"compare_cuda\" not implemented for 'Half'");
  CHECK(renamed<c10::Error>("max_pool3d_with_indices_out_cpu_template(): Expected more") ==
        "max_pool3d_with_indices_out_cuda_template(): Expected more");
  CHECK(renamed<c10::NotImplementedError>("\"copy_\" not implemented for 'Bits8'") == "as it was");
  CHECK(renamed<c10::Error>("Expected all tensors on cpu") == "as it was");
  CHECK(renamed<c10::IndexError>("\"frac_cpu\" not implemented for 'Bool'") == "as it was");
}

TEST_CASE("names differ in one word, or are in the table") {
  CHECK(name_of_cuda_kernel("round_vml_cpu", "aten::round") == "round_cuda");
  CHECK(name_of_cuda_kernel("cumsum_out_cpu", "aten::cumsum") == "cumsum_cuda");
  CHECK(name_of_cuda_kernel("addcdiv_cpu_out", "aten::addcdiv") == "addcdiv_cuda");
  CHECK(name_of_cuda_kernel("take_put_cpu", "aten::put_") == "put_cuda");
  CHECK(name_of_cuda_kernel("take_put_cpu", "aten::take") == "take_cuda");
  CHECK(name_of_cuda_kernel("scatter_gather_tensor_cpu", "aten::scatter_add_") ==
        "scatter_add_cuda_");
  CHECK(name_of_cuda_kernel("fused_dropout", "aten::native_dropout") == "fused_dropout");
}

}  // namespace torchport::vdev
