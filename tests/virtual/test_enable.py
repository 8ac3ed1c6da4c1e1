"""Virtual devices from within Python, and from pytest."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.own_process


def test_enable_before_torch(run_virtual) -> None:
    code = """
import torchport.virtual
torchport.virtual.enable("cuda:3", memory="2GiB", profile="t4")
import torch
print(torch.cuda.device_count(), torch.cuda.get_device_name(2), torch.cuda.mem_get_info(1)[1])
try:
    torchport.virtual.enable("cuda:1")
except RuntimeError as error:
    print(error)
"""
    out = run_virtual(code, devices=None).stdout
    assert f"3 Tesla T4 {2 * 2**30}\n" in out
    assert "torch is already imported" in out and "torchport run" in out


def test_enable_refuses_what_is_no_device(run_virtual) -> None:
    run = run_virtual("import torchport.virtual as v; v.enable('tpu')", devices=None, check=False)
    assert "ValueError: torchport: there are no virtual devices 'tpu'; use cuda:N" in run.stderr


LATE = """
import torchport.virtual
torchport.virtual.enable("cuda:1", streams="late")
import torch
side = torch.cuda.Stream()
tensor = torch.ones(4, device="cuda")
with torch.cuda.stream(side):
    early = tensor + 1
side.synchronize()
print(early.tolist())
"""


def test_enable_with_late_streams(run_virtual) -> None:
    run = run_virtual(LATE, devices=None)
    assert run.stdout == "[nan, nan, nan, nan]\n"
    assert run.stderr.count("without waiting for it") == 1


def test_enable_refuses_an_unknown_order_of_streams(run_virtual) -> None:
    code = "import torchport.virtual as v; v.enable('cuda:1', streams='soon')"
    run = run_virtual(code, devices=None, check=False)
    assert "ValueError: torchport: streams='soon'; use 'at-once' or 'late'" in run.stderr


SUITE = """
import pytest, torch

def test_plain():
    assert torch.ones(2).cuda().device == torch.device("cuda", 0)

@pytest.mark.virtual_cuda(devices=2)
def test_two(virtual_cuda):
    assert virtual_cuda.devices == ["cuda:0", "cuda:1"]
    assert torch.cuda.max_memory_allocated(1) == 0
    torch.ones(1, device="cuda:1")
    assert torch.cuda.max_memory_allocated(1) == 512

@pytest.mark.virtual_cuda(devices=9)
def test_nine(virtual_cuda):
    raise AssertionError("there are no nine")
"""


def pytest_in(folder, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_pytest_on_virtual_devices(tmp_path) -> None:
    (tmp_path / "conftest.py").write_text("import torch\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    run = pytest_in(tmp_path, "--torchport-devices", "cuda:2")
    assert "2 passed, 1 skipped" in run.stdout, run.stdout
    assert "needs 9 virtual devices, but there are 2" in run.stdout
    run = pytest_in(tmp_path)
    assert "1 failed, 2 skipped" in run.stdout, run.stdout
    assert "pytest --torchport-devices cuda:2" in run.stdout
    run = pytest_in(tmp_path, "--torchport-devices", "gpu")
    assert run.returncode == 4 and "there are no virtual devices 'gpu'; use cuda:N" in run.stderr


USE = """
import os, torch, torch._dynamo, torch._inductor.compile_fx
made = torch.ops.torchport.devices_are_made
print("after the imports", made(), torch.version.cuda is not None, torch.backends.cuda.is_built())
os.environ["TORCHPORT_VIRTUAL"] = {later!r}
print(torch.{kind}.device_count(), made(), torch.{kind}.get_device_properties(0).total_memory)
"""


def test_an_import_is_no_use_of_devices(run_virtual) -> None:
    """Their number and memory are read at the first use, as CUDA reads CUDA_VISIBLE_DEVICES."""
    out = run_virtual(USE.format(later="cuda:3,memory=3GiB", kind="cuda"), devices="cuda:1").stdout
    assert out == f"after the imports False True True\n3 True {3 * 2**30}\n"
    out = run_virtual(USE.format(later="xpu:3,memory=3GiB", kind="xpu"), devices="xpu:1").stdout
    assert out == f"after the imports False False False\n3 True {3 * 2**30}\n"


@pytest.mark.parametrize(
    "later",
    ["none", "mps", "cuda:4,profile=t4", "cuda:4,random=cpu", "cuda:4,data=1KiB", "nonsense", ""],
)
def test_what_decides_which_kernels_there_are_stays_as_it_was(run_virtual, later: str) -> None:
    """A program may change the variable for processes that it starts."""
    run = run_virtual(USE.format(later=later, kind="cuda"), devices="cuda:2,memory=2GiB")
    assert run.stdout.endswith(f"\n2 True {2 * 2**30}\n"), run.stdout
