#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContext.h>
#include <torch/library.h>

namespace gate_demo {

__global__ void scale_kernel(const float* x, float by, float plus, float* out, int64_t size) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < size) out[i] = x[i] * by + plus;
}

at::Tensor launch(const at::Tensor& x, float by, float plus) {
  const at::Tensor in = x.contiguous();
  at::Tensor out = in.clone();
  const int64_t size = in.numel();
  scale_kernel<<<(size + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      in.const_data_ptr<float>(), by, plus, out.mutable_data_ptr<float>(), size);
  return out;
}

at::Tensor triple_cuda(const at::Tensor& x) {
  return launch(x, 3, 0);
}

template <class T>
at::Tensor shift_cuda(const at::Tensor& x, T by) {
  return launch(x, 1, by);
}
template at::Tensor shift_cuda<float>(const at::Tensor&, float);

at::Tensor scale_cuda(const at::Tensor& x, double by) {
  return launch(x, static_cast<float>(by), 0);
}

}  // namespace gate_demo

TORCH_LIBRARY_IMPL(gate_demo, CUDA, m) {
  m.impl("scale", gate_demo::scale_cuda);
}
