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
        "cuda_scatter_gather_base_kernel_func");
  CHECK(name_of_cuda_kernel("im2col_out_cpu", "aten::im2col") == "im2col_out_cuda");
  CHECK(name_of_cuda_kernel("mul_cpu_reduced_float", "aten::mul") == "mul_cuda");
  CHECK(name_of_cuda_kernel("fused_dropout", "aten::native_dropout") == "fused_dropout");
}

TEST_CASE("CUDA's kernels of some operators have one name") {
  CHECK(name_of_cuda_kernel("softmax_lastdim_kernel_impl", "aten::_softmax") == "host_softmax");
  CHECK(name_of_cuda_kernel("avg_pool2d_channels_last", "aten::avg_pool2d") ==
        "avg_pool2d_out_cuda_frame");
  CHECK(name_of_cuda_kernel("index_add_", "aten::index_add_") == "index_add");
  CHECK(name_of_cuda_kernel("upsample_generic_Nd", "aten::upsample_nearest2d") ==
        "upsample_nearest2d_out_frame");
  CHECK(name_of_cuda_kernel("_upsample_nearest_exact1d_backward",
                            "aten::_upsample_nearest_exact1d_backward") ==
        "upsample_nearest1d_backward_out_frame");
  CHECK(name_of_cuda_kernel("upsample_linear1d_backward", "aten::upsample_linear1d_backward") ==
        "upsample_linear1d_out_frame_backward");
}

}  // namespace torchport::vdev
