#include <torch/extension.h>

// local_contrast_kernel.cu
torch::Tensor local_contrast_forward_cuda(torch::Tensor x, int64_t kernel_size);
torch::Tensor local_contrast_backward_cuda(torch::Tensor grad, int64_t kernel_size);

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

torch::Tensor local_contrast_forward(torch::Tensor x, int64_t kernel_size) {
  CHECK_INPUT(x);
  TORCH_CHECK(x.dim() == 4, "expected (N, C, H, W)");
  return local_contrast_forward_cuda(x, kernel_size);
}

torch::Tensor local_contrast_backward(torch::Tensor grad, int64_t kernel_size) {
  CHECK_INPUT(grad);
  return local_contrast_backward_cuda(grad, kernel_size);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &local_contrast_forward, "local contrast forward (CUDA)");
  m.def("backward", &local_contrast_backward, "local contrast backward (CUDA)");
}
