"""When Triton is imported makes no difference, and without it nothing is paid."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

HERE = find_spec("triton") is not None
needs_triton = pytest.mark.skipif(not HERE, reason="Triton is not installed")

KERNEL = """
@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    tl.store(x_ptr + places, tl.load(x_ptr + places) + tl.sum(places))
"""
USE = """
x = torch.zeros(4, device="cuda")
kernel[(1,)](x, N=4)
assert x.tolist() == [6.0] * 4, x
print("ran")
"""


def run(tmp_path, source: str, virtual: bool = True) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "program.py"
    program.write_text(source)
    command = (
        [f"{sys.prefix}/bin/torchport", "run", "-q", str(program)]
        if virtual
        else [sys.executable, str(program)]
    )
    environment = {**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}  # Triton 3.9 warns without it
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )


@needs_triton
@pytest.mark.parametrize(
    "source",
    [
        "import triton, triton.language as tl\n" + KERNEL + "import torch\n" + USE,
        "import torch, triton\nfrom triton import language as tl\n" + KERNEL + USE,
        "import torch\nfrom triton.runtime.jit import jit\nimport triton.language as tl\n"
        + KERNEL.replace("@triton.jit", "@jit")
        + USE,
        # A package that was imported before the program asked for devices.
        "import triton, triton.language as tl\n"
        + KERNEL
        + "import torchport\ntorchport.virtual.enable('cuda:1')\nimport torch\n"
        + USE,
    ],
    ids=["triton first", "torch first", "jit by name", "before enable"],
)
def test_orders_of_imports(tmp_path, source):
    ran = run(tmp_path, source, virtual="enable" not in source)
    assert (ran.stdout, ran.returncode) == ("ran\n", 0), ran.stderr
    assert ran.stderr == (
        "torchport: Triton kernels are interpreted on virtual devices: one program after another, on the "
        "CPU. Their results count, their times do not.\n"
    )


@needs_triton
def test_tritons_own_interpreter_is_left_as_it_is(tmp_path):
    source = "import os\nos.environ['TRITON_INTERPRET'] = '1'\nimport torch, triton, triton.language as tl\n"
    ran = run(tmp_path, source + KERNEL + USE + "print(type(kernel).__name__)")
    assert (ran.stdout, ran.stderr) == ("ran\nInterpretedFunction\n", "")


def test_a_program_without_triton_pays_nothing(tmp_path):
    source = (
        "import sys, torch\nx = torch.ones(2, 3, 1, device='cuda')\n"
        "torch.bmm(x, x.mT)  # one of Triton's kernels, in torch 2.13 with Triton on a device\n"
        "print([m for m in sys.modules if m.split('.')[0] == 'triton' or 'triton_kernels' in m])\n"
    )
    ran = run(tmp_path, source)
    assert ran.stdout == "[]\n", ran.stderr


@needs_triton
def test_an_assert_in_its_own_time(tmp_path):
    """As Triton's `__assertfail` prints it, and with the line of the launch."""
    source = """import torch, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    tl.device_assert(tl.load(x_ptr + tl.arange(0, N)) < 3, "x is below 3")

x = torch.arange(4, device="cuda")
kernel[(1,)](x, N=4, debug=True)
print("launched")
torch.cuda.synchronize()
"""
    ran = run(tmp_path, source)
    assert (ran.stdout, ran.returncode) == ("launched\n", 1)
    said = ran.stderr.splitlines()
    program = tmp_path / "program.py"
    assert said[1:3] == [
        f"{program}:5: unknown: block: [0,0,0], thread: [0,0,0] Assertion `x is below 3` failed.",
        f"torchport: it happened at {program}:8, in the Triton kernel kernel on cuda:0: x is below 3. "
        "A GPU cannot tell this.",
    ]
    assert any(line.endswith("CUDA error: device-side assert triggered") for line in said)
