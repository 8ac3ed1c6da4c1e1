"""Products and convolutions of half types on CPUs without instructions for them: in float32."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAM = Path("half_products.py")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("devices", ["cuda:1", "mps"])
def test_results_are_those_of_float32_rounded_once(run_virtual, dtype: str, devices: str) -> None:
    args = [dtype] if devices == "cuda:1" else [dtype, "--mps"]
    done = run_virtual(PROGRAM, devices=devices, args=args, TORCHPORT_HALF_INSTRUCTIONS="none")
    assert done.stdout.split() == ["compared", "15"]


COMPARE = """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
for dtype in (torch.float16, torch.bfloat16):
    a, b = torch.randn(40, 300).to(dtype), torch.randn(300, 40).to(dtype)
    x, k = torch.randn(2, 16, 9, 9).to(dtype), torch.randn(16, 16, 3, 3).to(dtype)
    assert (a @ b).equal((a.cuda() @ b.cuda()).cpu())
    assert F.conv2d(x, k).equal(F.conv2d(x.cuda(), k.cuda()).cpu())
"""


def test_with_the_random_numbers_of_the_cpu_they_are_the_cpus(run_virtual) -> None:
    run_virtual(COMPARE, devices="cuda:1,random=cpu", TORCHPORT_HALF_INSTRUCTIONS="none")


MEMORY = """
import torch
a = torch.zeros(1000, 1000, dtype=torch.float16, device="cuda")
a @ a  # takes the workspace of cuBLAS
before = torch.cuda.memory_allocated()
torch.cuda.reset_peak_memory_stats()
c = a @ a
print(torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before)
"""


def test_the_devices_memory_holds_no_copies_in_float32(run_virtual) -> None:
    done = run_virtual(MEMORY, devices="cuda:1", TORCHPORT_HALF_INSTRUCTIONS="none")
    result = 2_000_384  # 2,000,000 bytes in blocks of 512
    assert [int(word) for word in done.stdout.split()] == [result, result]
