"""A test that runs once for each of several numbers of devices."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.own_process

pytest_plugins = ("pytester",)

COUNTS = """
import os, subprocess, sys
import pytest, torch

@pytest.mark.virtual_cuda(devices=[1, 2, 4])
def test_each(virtual_cuda):
    n = virtual_cuda.count
    assert virtual_cuda.devices == [f"cuda:{i}" for i in range(n)]
    assert torch.cuda.device_count() == torch.accelerator.device_count() == n
    # A backward pass on the last: autograd's threads are there whatever the first test saw.
    x = torch.ones(3, device=f"cuda:{n - 1}", requires_grad=True)
    x.sum().backward()
    assert x.grad.device.index == n - 1
    for there in (lambda: torch.ones(1, device=f"cuda:{n}"), lambda: torch.cuda.set_device(n)):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            there()
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(n)
    child = "import torch; print(torch.cuda.device_count())"
    seen = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert int(seen.stdout) == n

@pytest.mark.virtual_cuda(devices=[2])
def test_the_current_device_is_put_back(virtual_cuda):
    torch.cuda.set_device(1)

@pytest.mark.virtual_cuda(devices=3)
def test_all_are_there_again(virtual_cuda):
    assert virtual_cuda.count == torch.cuda.device_count() == 3
    assert torch.cuda.current_device() == 0
    assert torch.ones(1, device="cuda:2").device.index == 2
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
"""


def test_a_test_runs_on_each_number_of_devices(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(COUNTS)
    run = pytester.runpytest_subprocess("-v", "-rs", "--torchport-devices", "cuda:3")
    run.assert_outcomes(passed=4, skipped=1)
    run.stdout.fnmatch_lines(
        ["*::test_each?devices1? PASSED*", "*::test_each?devices2? PASSED*"],
    )
    run.stdout.fnmatch_lines(["*needs 4 virtual devices, but there are 3*"])


def test_without_virtual_devices_each_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(COUNTS)
    run = pytester.runpytest_subprocess("-rs")
    run.assert_outcomes(skipped=5)
    run.stdout.fnmatch_lines(["*pytest --torchport-devices cuda:4*"])


def test_counts_need_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.virtual_cuda(devices=[1, 2])
        def test_without():
            pass
        """
    )
    run = pytester.runpytest_subprocess("--torchport-devices", "cuda:2")
    assert run.ret != 0
    assert "must use the fixture virtual_cuda" in run.stdout.str() + run.stderr.str()


def test_visible_says_what_cannot_be(run_virtual) -> None:
    code = """
import torch
from torchport import virtual

held = torch.ones(3, device="cuda:1")
with virtual.visible(1):
    assert torch.cuda.device_count() == 1
    assert held.sum().item() == 3  # what is there stays
    try:
        with virtual.visible(2):
            pass
    except ValueError as error:
        print(error)
assert torch.cuda.device_count() == 2
print(torch.ones(1, device="cuda:1").device)
"""
    out = run_virtual(code).stdout
    assert (
        out == "torchport: visible(2) is not possible, because the number of devices is 1\ncuda:1\n"
    )
    none = run_virtual("from torchport.virtual import visible\nwith visible(1): pass",
                       devices=None, check=False)  # fmt: skip
    assert "RuntimeError: torchport: there are no virtual devices" in none.stderr
