#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <cuda.h>
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ int box_count(int y, int x, int h, int w, int r) {
  const int y0 = max(y - r, 0), y1 = min(y + r, h - 1);
  const int x0 = max(x - r, 0), x1 = min(x + r, w - 1);
  return (y1 - y0 + 1) * (x1 - x0 + 1);
}

template <typename scalar_t>
__global__ void forward_kernel(const scalar_t* __restrict__ in,
                               scalar_t* __restrict__ out, int64_t total,
                               int h, int w, int r) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= total) return;
  const int x = i % w;
  const int y = (i / w) % h;
  const scalar_t* plane = in + (i / ((int64_t)h * w)) * h * w;
  scalar_t sum = 0;
  for (int yy = max(y - r, 0); yy <= min(y + r, h - 1); ++yy)
    for (int xx = max(x - r, 0); xx <= min(x + r, w - 1); ++xx)
      sum += plane[yy * w + xx];
  out[i] = in[i] - sum / box_count(y, x, h, w, r);
}

// The box is symmetric: pixel j took part in the mean of all i in box(j).
template <typename scalar_t>
__global__ void backward_kernel(const scalar_t* __restrict__ grad,
                                scalar_t* __restrict__ out, int64_t total,
                                int h, int w, int r) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= total) return;
  const int x = i % w;
  const int y = (i / w) % h;
  const scalar_t* plane = grad + (i / ((int64_t)h * w)) * h * w;
  scalar_t sum = 0;
  for (int yy = max(y - r, 0); yy <= min(y + r, h - 1); ++yy)
    for (int xx = max(x - r, 0); xx <= min(x + r, w - 1); ++xx)
      sum += plane[yy * w + xx] / box_count(yy, xx, h, w, r);
  out[i] = grad[i] - sum;
}

}  // namespace

torch::Tensor local_contrast_forward_cuda(torch::Tensor x, int64_t kernel_size) {
  auto out = torch::empty_like(x);
  const int64_t total = x.numel();
  if (total == 0) return out;
  const int64_t blocks = (total + kThreads - 1) / kThreads;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "local_contrast_forward", ([&] {
    forward_kernel<scalar_t>
        <<<blocks, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), total,
            x.size(2), x.size(3), kernel_size / 2);
  }));
  AT_CUDA_CHECK(cudaGetLastError());
  return out;
}

torch::Tensor local_contrast_backward_cuda(torch::Tensor grad, int64_t kernel_size) {
  auto out = torch::empty_like(grad);
  const int64_t total = grad.numel();
  if (total == 0) return out;
  const int64_t blocks = (total + kThreads - 1) / kThreads;
  AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "local_contrast_backward", ([&] {
    backward_kernel<scalar_t>
        <<<blocks, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
            grad.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), total,
            grad.size(2), grad.size(3), kernel_size / 2);
  }));
  AT_CUDA_CHECK(cudaGetLastError());
  return out;
}
