"""Errors in their own time: what a kernel asserts is raised by the next call that waits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TORCHPORT = Path(sys.executable).with_name("torchport")

TEXT = """CUDA error: device-side assert triggered
Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
LINE = re.compile(
    r"^/pytorch/aten/src/ATen/native/cuda/(\w+\.cu):(\d+:|) (\S+): block: \[\d+,\d+,\d+\], "
    r"thread: \[\d+,\d+,\d+\] Assertion `(.+)` failed\.$",
    re.M,
)

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run(code, *options, **env): the program under `torchport run`, ended."""

    def start(
        code: str, *options: str, check: bool = True, **env: str
    ) -> subprocess.CompletedProcess:
        path = tmp_path / "program.py"
        path.write_text(code)
        settings = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPORT_")}
        done = subprocess.run(
            [TORCHPORT, "run", "-q", *options, path.name],
            cwd=tmp_path,
            env=settings | {"OMP_NUM_THREADS": "1", **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return start


# Each is a program's expression, with the file, the kernel and the condition of the assertion, and
# the reason that torchport adds. `x` is [[0, 1, 2], [3, 4, 5]], `bad` is [1, 7], `wide` is [20, 8].
CASES = {
    "torch.nn.functional.embedding(bad, x)": (
        "Indexing.cu", "indexSelectSmallIndex", "srcIndex < srcSelectDimSize",
        "index 7 at [1] of index [2] is out of range for dimension 0 of a tensor [2, 3]",
    ),
    "wide.index_select(0, many)": (
        "IndexKernelUtils.cu", "vectorized_gather_kernel",
        'ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"',
        "index 20 at [3] of index [20] is out of range for dimension 0 of a tensor [20, 8]",
    ),
    "x.index_select(0, many)": (
        "ScatterGatherKernel.cu", "operator()",
        'idx_dim >= 0 && idx_dim < index_size && "scatter gather kernel index out of bounds"',
        "index 2 at [0] of index [20] is out of range for dimension 0 of a tensor [2, 3], and 2 more",
    ),
    "x.gather(1, bad[None])": (
        "ScatterGatherKernel.cu", "operator()",
        'idx_dim >= 0 && idx_dim < index_size && "scatter gather kernel index out of bounds"',
        "index 7 at [0, 1] of index [1, 2] is out of range for dimension 1 of a tensor [2, 3]",
    ),
    "x.scatter(1, bad[None], 1.0)": ("ScatterGatherKernel.cu", "operator()", "", "index 7"),
    "x.scatter_(1, bad[None], x)": ("ScatterGatherKernel.cu", "operator()", "", "index 7"),
    "x.scatter_add(1, bad[None], x)": ("ScatterGatherKernel.cu", "operator()", "", "index 7"),
    "x.scatter_reduce(1, bad[None], x, 'amax')": (
        "ScatterGatherKernel.cu", "operator()", "", "index 7",
    ),
    "torch.nn.functional.one_hot(bad - 2, 3)": (
        "ScatterGatherKernel.cu", "operator()", "", "index -1 at [0, 0]",
    ),
    "x.index_add(1, bad, x[:, :2])": (
        "Indexing.cu", "indexFuncSmallIndex", "dstIndex < dstAddDimSize", "index 7 at [1]",
    ),
    "x.index_copy(1, bad, x[:, :2])": (
        "IndexKernel.cu", "operator()",
        'idx >= 0 && idx < self_dim_size && "index_copy_(): index out of bounds"', "index 7",
    ),
    "x.index_fill(1, bad, 0)": (
        "IndexKernel.cu", "operator()",
        'idx >= -self_dim_size && idx < self_dim_size && "index out of bounds"', "index 7",
    ),
    "x[bad]": (
        "IndexKernel.cu", "operator()",
        '-sizes[i] <= index && index < sizes[i] && "index out of bounds"',
        "index 7 at [1] of the index [2] is out of range for dimension 0 of a tensor [2, 3]",
    ),
    "x[0, bad]": ("IndexKernel.cu", "operator()", "", "index 7 at [1]"),
    "x.index_put((bad,), x[0])": ("IndexKernel.cu", "operator()", "", "index 7 at [1]"),
    "x.take(bad)": (
        "IndexKernel.cu", "operator()",
        'idx < numel && idx >= -numel && "cuda_take_put_kernel() index out of bounds"',
        "index 7 at [1] of index [2] is out of range for 6 elements",
    ),
    "x.put(bad, x[0, :2])": ("IndexKernel.cu", "operator()", "", "index 7 at [1]"),
    "F.cross_entropy(x, bad)": (
        "Loss.cu", "nll_loss_forward_reduce_cuda_kernel_2d", "t >= 0 && t < n_classes",
        "class 7 at [1] of target [2] is out of range for 3 classes",
    ),
    "F.cross_entropy(x, bad, reduction='none')": (
        "Loss.cu", "nll_loss_forward_no_reduce_cuda_kernel",
        "cur_target >= 0 && cur_target < n_classes", "class 7 at [1]",
    ),
    "F.cross_entropy(x[0], bad[1])": (
        "Loss.cu", "nll_loss_forward_reduce_cuda_kernel_1d", "t >= 0 && t < n_classes",
        "class 7 at []",
    ),
    "F.cross_entropy(x[:, :, None, None], bad[:, None, None])": (
        "NLLLoss2d.cu", "nll_loss2d_forward_kernel", "t >= 0 && t < n_classes",
        "class 7 at [1, 0, 0]",
    ),
    "F.binary_cross_entropy(x, x)": (
        "Loss.cu", "operator()", "input_val >= zero && input_val <= one",
        "2 at [0, 2] of input is not between 0 and 1, and 3 more are not",
    ),
    "F.binary_cross_entropy(x.sigmoid(), x)": (
        "Loss.cu", "operator()", "target_val >= zero && target_val <= one", "2 at [0, 2] of target",
    ),
    "torch._assert_async(x[0, 0])": (
        "TensorCompare.cu", "_assert_async_cuda_kernel", "input[0] != 0", "is zero",
    ),
    "torch._assert_async(x[0, 0], 'my words')": (
        "TensorCompare.cu", "_assert_async_cuda_kernel", "my words", "is zero",
    ),
    "torch.multinomial(x - 1, 1)": (
        "TensorCompare.cu", "_assert_async_cuda_kernel",
        "probability tensor contains either `inf`, `nan` or element < 0",
        "probability -1.000000 at [0, 0]",
    ),
}  # fmt: skip

TRY = """
import torch, torch.nn.functional as F
x = torch.arange(6.0, device="cuda").reshape(2, 3)
bad = torch.tensor([1, 7], device="cuda")
wide = torch.zeros(20, 8, device="cuda")
many = torch.arange(20, device="cuda").clamp(max=1)
many[0], many[3], many[5] = {many}
torch.cuda.synchronize()
y = {expression}  # here
print("went on")
later = x * 2  # starts a kernel and does not wait
for call in (torch.cuda.synchronize, x.cpu, lambda: x * 2, lambda: torch.zeros(3, device="cuda")):
    try:
        call()
        print("no error")
    except torch.AcceleratorError as error:
        assert error.error_code == 710, error.error_code
        print(str(error))
print(torch.zeros(2).tolist())
if isinstance(y, torch.Tensor):
    print(tuple(y.shape), y.dtype, y.device)
"""


@pytest.mark.parametrize("expression", CASES)
def test_the_next_call_that_waits_raises(run: Run, expression: str) -> None:
    file, kernel, condition, reason = CASES[expression]
    many = "1, 20, 1" if "wide" in expression else "2, 3, 2"
    done = run(TRY.format(expression=expression, many=many))
    lines = LINE.findall(done.stderr)
    assert lines, done.stderr
    assert {(found[0], found[2]) for found in lines} == {(file, kernel)}
    assert not condition or {found[3] for found in lines} == {condition}
    told = [line for line in done.stderr.splitlines() if line.startswith("torchport: ")]
    assert len(told) == 1, done.stderr
    here = (
        TRY.format(expression=expression, many=many).splitlines().index(f"y = {expression}  # here")
    )
    assert f"program.py:{here + 1}, in aten::" in told[0]
    assert "on cuda:0" in told[0] and reason in told[0]
    assert done.stdout.startswith("went on\n" + TEXT)
    assert done.stdout.count(TEXT + told[0]) == 4
    assert "[0.0, 0.0]" in done.stdout, "the CPU stays usable"
