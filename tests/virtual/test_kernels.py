"""CUDA kernels of extensions."""

from __future__ import annotations

import shutil

import pytest

SOURCE = r"""
#include <torch/types.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>

// A comment with <<< in it, and a "string <<<".
template <typename T>
__global__ void scaled(const T* __restrict__ in, T* out, int n, T by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * by;
}

// A sum over each block, through shared memory.
__global__ void block_sums(const float* in, float* out, int n) {
  extern __shared__ float s[];
  __shared__ int count;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = s[0] + 1000 * count;
}

torch::Tensor scale(torch::Tensor x, double by) {
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scaled<scalar_t><<<dim3((x.numel() + 63) / 64), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel(), static_cast<scalar_t>(by));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

torch::Tensor sums(torch::Tensor x) {
  auto out = torch::zeros({(x.numel() + 31) / 32}, x.options());
  block_sums<<<out.numel(), 32, 32 * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                                      x.numel());
  return out;
}

// As extensions that draw random numbers: the generator that was given, else the device's own.
std::vector<int64_t> drawn(std::optional<at::Generator> given, int64_t count) {
  auto* generator = at::get_generator_or_default<at::CUDAGeneratorImpl>(
      given, at::cuda::detail::getDefaultCUDAGenerator());
  const auto [seed, offset] = generator->philox_engine_inputs(count);
  return {static_cast<int64_t>(seed), static_cast<int64_t>(offset)};
}
"""

PROGRAM = f"""
import torch
from torch.utils.cpp_extension import load_inline

module = load_inline(
    "kernels_of_a_test",
    "torch::Tensor scale(torch::Tensor x, double by); torch::Tensor sums(torch::Tensor x);"
    "std::vector<int64_t> drawn(std::optional<at::Generator> given, int64_t count);",
    cuda_sources={SOURCE!r},
    functions=["scale", "sums", "drawn"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)
x = torch.arange(100.0, device="cuda:1")
y = module.scale(x, 2)
assert y.device == x.device and torch.equal(y, x * 2), y
assert torch.equal(module.scale(x.double(), 0.5), x.double() * 0.5)
expected = torch.nn.functional.pad(x, (0, 28)).view(4, 32).sum(1) + 1000 * 32
assert torch.equal(module.sums(x), expected), module.sums(x)
torch.cuda.manual_seed_all(7)
assert [module.drawn(None, 5), module.drawn(None, 1)] == [[7, 0], [7, 8]]
own = torch.Generator("cuda").manual_seed(8)
assert module.drawn(own, 4) == [8, 0]
print("right")
"""


@pytest.mark.skipif(
    shutil.which("ninja") is None and shutil.which("g++") is None, reason="no compiler"
)
def test_an_extension_with_kernels_runs(run_virtual, tmp_path) -> None:
    # As a build leaves it that was killed.
    folder = tmp_path / "kernels_of_a_test_torchport"
    folder.mkdir()
    (folder / "lock").touch()
    run = run_virtual(PROGRAM, devices="cuda:2", timeout=400, TORCH_EXTENSIONS_DIR=str(tmp_path))
    assert "right" in run.stdout, run.stderr
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [folder]
