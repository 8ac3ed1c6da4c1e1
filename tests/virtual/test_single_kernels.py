"""torch.cuda._compile_kernel, and programs that call NVRTC and the driver by ctypes, as cupy does."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.cuda import _utils

pytestmark = pytest.mark.devices("cuda:2", memory="1GiB")

KERNELS = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void scaled(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2;
}
extern "C" __global__ void sums(const float* in, float* out, int n) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__device__ float wide(__half x) { return __half2float(x); }
__device__ float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T> __global__ void warp_sums(const T* in, float* out) {
  float sum = wide(in[blockIdx.x * blockDim.x + threadIdx.x]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(&out[blockIdx.x], sum);
}
template <typename T> __global__ void plus(T* x, double by) { x[threadIdx.x] += T(by + BY); }
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A folder of its own for what is compiled, so that each run compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def kernel(name: str):
    return torch.cuda._compile_kernel(KERNELS, name, nvcc_options=["-DBY=1", "--use_fast_math"])


def test_kernels_of_plain_names() -> None:
    x = torch.arange(100.0, device="cuda:1")
    out = torch.zeros_like(x)
    kernel("scaled")(grid=(4, 1, 1), block=(32, 1, 1), args=[x, out, 100])
    assert torch.equal(out, x * 2)
    totals, sums = torch.zeros(4, device="cuda:1"), kernel("sums")
    sums((4, 1, 1), (32, 1, 1), [x, totals, 100], shared_mem=128, stream=torch.cuda.Stream())
    assert torch.equal(totals, torch.nn.functional.pad(x, (0, 28)).view(4, 32).sum(1))


@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.float16, "__half"), (torch.bfloat16, "__nv_bfloat16")]
)
def test_templates_shuffles_and_halves(dtype: torch.dtype, name: str) -> None:
    x = torch.arange(128, device="cuda").to(dtype)
    out = torch.zeros(2, device="cuda")
    kernel(f"warp_sums<{name}>")((2, 1, 1), (64, 1, 1), [x, out])
    assert torch.equal(out, x.float().view(2, 64).sum(1))
    y = torch.zeros(8, device="cuda", dtype=torch.float64)
    kernel("plus<double>")(block=(8, 1, 1), args=[y, 0.5])
    assert y.tolist() == [1.5] * 8


def test_all_kernels_of_a_module() -> None:
    binary, lowered = _utils._nvrtc_compile(KERNELS, "plus<float>", nvcc_options=["-DBY=1"])
    module = _utils._cuda_load_module(binary)
    x = torch.zeros(4, device="cuda")
    getattr(module, lowered)(block=(4, 1, 1), args=[x, 2.0])
    module.scaled(block=(4, 1, 1), args=[x, x, 4])
    assert x.tolist() == [6] * 4
    with pytest.raises(AttributeError, match="No kernel named 'other'"):
        _ = module.other


def test_refusals() -> None:
    x, scaled = torch.ones(4, device="cuda"), kernel("scaled")
    with pytest.raises(RuntimeError, match="CUDA error: invalid argument"):
        scaled(block=(2048, 1, 1), args=[x, x, 4])
    with pytest.raises(RuntimeError, match=r"Call kernel.set_shared_memory_config"):
        scaled(args=[x, x, 4], shared_mem=65536)
    scaled.set_shared_memory_config(65536)
    scaled(args=[x, x, 1], shared_mem=65536)
    assert x.tolist() == [2, 1, 1, 1]
    with pytest.raises(RuntimeError, match="CUDA error: a PTX JIT compilation failed"):
        _utils._cuda_load_module(".version 8.0\n.target sm_80", ["f"])
    wrong = 'extern "C" __global__ void f(int* x) {\n  *x = nothing;\n}'
    with pytest.raises(RuntimeError, match=r"Kernel compilation failed:[\s\S]*f.cu:2:8: error"):
        torch.cuda._compile_kernel(wrong, "f")
    graph = torch.cuda.CUDAGraph()
    with (
        pytest.raises(NotImplementedError, match=r"_compile_kernel.*capture of a CUDA graph"),
        torch.cuda.graph(graph),
    ):
        scaled(args=[x, x, 1])


CTYPES = """
import ctypes, torch

cuda, nvrtc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvrtc.so.13")
source = br'''
template <class T, int kTile> __global__ void shifted(const T* in, T* out, int n, T by) {
  __shared__ T tile[kTile];
  const int i = blockIdx.x * kTile + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  if (i < n) out[i] = tile[(threadIdx.x + 1) % kTile] + by;
}
'''

def check(result):
    assert result == 0, result

x = torch.arange(64, dtype=torch.float64, device="cuda:1")
out = torch.zeros_like(x)
with torch.cuda.device(1):
    program = ctypes.c_void_p()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"shifted.cu", 0, None, None))
    check(nvrtc.nvrtcAddNameExpression(program, b"shifted<double, 32>"))
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=sm_80", b"-std=c++17")
    check(nvrtc.nvrtcCompileProgram(program, 2, options))
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    code = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, code))
    name = ctypes.c_char_p()
    check(nvrtc.nvrtcGetLoweredName(program, b"shifted<double, 32>", ctypes.byref(name)))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), code))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name))
    check(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    values = [ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), ctypes.c_int(64),
              ctypes.c_double(0.5)]
    places = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in values))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    check(cuda.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, places, None))
    check(cuda.cuStreamSynchronize(stream))
    side = torch.cuda.Stream()
    check(cuda.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, ctypes.c_void_p(side.cuda_stream), places, None))
    check(cuda.cuModuleUnload(module))
assert torch.equal(out, x.view(2, 32).roll(-1, 1).flatten() + 0.5), out
print("right")
"""


def test_a_program_that_calls_the_libraries_by_ctypes(tmp_path) -> None:
    (tmp_path / "program.py").write_text(CTYPES)
    command = [Path(sys.executable).parent / "torchport", "run", "-q", "--devices", "cuda:2"]
    run = subprocess.run(
        [*command, tmp_path / "program.py"],
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.stdout == "right\n", run.stderr


def test_nothing_of_the_driver_is_lost() -> None:
    driver = _utils._get_gpu_runtime_library()
    version = ctypes.c_int()
    assert driver.cuDriverGetVersion(ctypes.byref(version)) == 0
    assert version.value >= 12000
