// Refuses what needs a library that PyTorch's own builds for CUDA are made without, in their words
// (aten/src/ATen/native/miopen, aten/src/ATen/native/sparse/cuda/SparseCsrTensorMath.cu), and what
// is for devices of another generation.
#include <array>
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

void refuse_miopen(const c10::OperatorHandle& op, torch::jit::Stack*) {
  const std::string& full = op.operator_name().name;
  const std::string name = full.substr(full.find("::") + 2);
  const bool recurrent = name.starts_with("miopen_rnn");
  TORCH_CHECK(false, name, name == "miopen_rnn" ? " " : "",
              ": ATen not compiled with MIOpen support", recurrent ? "." : "");
}

// (_mixed_dtypes_linear in sparse/cuda/..., for tensor cores of the architecture sm8x)
void refuse_mixed_linear(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK(Runtime::get().profile()->major == 8,
              "_mixed_dtypes_linear: Supported only on GPUs with compute capability 8.x");
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "torchport: ", op.operator_name(),
      " does not have a kernel for the CPU, so virtual devices cannot run it");
}

// _cslt_compress(Tensor input): cuSPARSELt takes whole tiles, whose sides depend on the type
// (_DTYPE_SHAPE_CONSTRAINTS of SparseSemiStructuredTensorCUSPARSELT in
// torch/sparse/semi_structured.py).
void refuse_compression(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  constexpr std::int64_t kBytesOfSide = 32;
  const at::Tensor& input = stack->back().toTensor();
  const std::int64_t side = kBytesOfSide / static_cast<std::int64_t>(input.itemsize());
  TORCH_CHECK(
      input.dim() != 2 || (input.size(0) % side == 0 && input.size(1) % side == 0),
      "CUDA error: operation not supported when calling `cusparseLtStructuredDescriptorInit( "
      "&handle, &sparse_input_descriptor, sparse_input.size(0), sparse_input.size(1), "
      "sparse_input.size(1), 16, type, CUSPARSE_ORDER_ROW, CUSPARSELT_SPARSITY_50_PERCENT)`");
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "torchport: ", op.operator_name(),
      " does not have a kernel for the CPU, so virtual devices cannot run it");
}

void refuse_sparse_solve(const c10::OperatorHandle&, torch::jit::Stack*) {
  TORCH_CHECK(
      false,
      "Calling linear solver with sparse tensors requires compiling PyTorch with CUDA cuDSS "
      "and is not supported in ROCm build.");
}

void put_missing_libraries(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  static constexpr std::array<const char*, 9> kMiopen{"miopen_batch_norm",
                                                      "miopen_batch_norm_backward",
                                                      "miopen_convolution",
                                                      "miopen_convolution_add_relu",
                                                      "miopen_convolution_relu",
                                                      "miopen_convolution_transpose",
                                                      "miopen_depthwise_convolution",
                                                      "miopen_rnn",
                                                      "miopen_rnn_backward"};
  for (const char* name : kMiopen)
    aten.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse_miopen>());
  aten.impl("_cslt_compress", torch::CppFunction::makeFromBoxedFunction<&refuse_compression>());
  aten.impl("_mixed_dtypes_linear",
            torch::CppFunction::makeFromBoxedFunction<&refuse_mixed_linear>());
}

void put_sparse_solve(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  aten.impl("_spsolve", torch::CppFunction::makeFromBoxedFunction<&refuse_sparse_solve>());
}

const OperatorGroup kMissingLibraries(&put_missing_libraries);
const OperatorGroup kSparseSolve(&put_sparse_solve, {&KindKeys::sparse_csr});

}  // namespace

}  // namespace torchport::vdev
