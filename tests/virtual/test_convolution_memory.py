"""What cuDNN's convolutions take of the device while they compute, as an H100 does (tests/fidelity)."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

pytestmark = pytest.mark.devices("cuda:1", memory="256MiB")
MIB = 1 << 20


def peak_of(call):
    call()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    found = call()
    left = torch.cuda.memory_allocated() - before
    del found
    return torch.cuda.max_memory_allocated() - before - left


def given(channels=128, size=28, kernel=3, dtype=torch.float32, groups=1, batch=8):
    x = torch.ones(batch, channels, size, size, device="cuda", dtype=dtype)
    return x, torch.ones(channels, channels // groups, kernel, kernel, device="cuda", dtype=dtype)


def copies(x, w):
    """Of the input, the weight and an output of the input's size, in one block."""
    return (2 * x.nbytes + w.nbytes + 511) // 512 * 512


@pytest.mark.parametrize("dtype", [torch.float32, torch.half, torch.bfloat16])
def test_tensor_cores_copy_all_for_channels_that_lie_side_by_side(dtype):
    x, w = given(dtype=dtype)
    assert peak_of(lambda: F.conv2d(x, w, padding=1)) == copies(x, w)
    last = torch.channels_last
    x, w = x.to(memory_format=last), w.to(memory_format=last)
    assert peak_of(lambda: F.conv2d(x, w, padding=1)) == 0


def test_outputs_of_other_sizes():
    x, w = given()
    out = F.conv2d(x, w, stride=2)
    assert out.shape[-1] == 13
    assert peak_of(lambda: F.conv2d(x, w, stride=2)) == x.nbytes + w.nbytes + out.nbytes
    out = F.conv_transpose2d(x, w, stride=2, output_padding=1)
    whole = peak_of(lambda: F.conv_transpose2d(x, w, stride=2, output_padding=1))
    assert 0 <= whole - (x.nbytes + w.nbytes + out.nbytes) < MIB  # a block that is not split


def test_what_takes_none():
    for arguments in (
        {"kernel": 1},  # a product of matrices
        {"dtype": torch.float64},
        {"channels": 8},
    ):
        x, w = given(**arguments)
        assert peak_of(lambda x=x, w=w: F.conv2d(x, w)) == 0, arguments
    x, w = given(groups=128)
    assert peak_of(lambda: F.conv2d(x, w, groups=128)) == 0  # a kernel of PyTorch's own
    x, w = given()
    torch.backends.cudnn.allow_tf32 = False
    try:
        assert peak_of(lambda: F.conv2d(x, w)) == 0
    finally:
        torch.backends.cudnn.allow_tf32 = True


def test_gradients():
    x, w = given(dtype=torch.half)
    x.requires_grad_()
    w.requires_grad_()
    out = F.conv2d(x, w, padding=1)
    grad = torch.ones_like(out)
    found = peak_of(lambda: torch.autograd.grad(out, (x, w), grad, retain_graph=True))
    assert found == copies(x, w)


def test_a_device_that_is_short_of_memory_computes_without():
    x, w = given(channels=64, size=128, batch=16, dtype=torch.float32)  # 64 MiB
    out = F.conv2d(x, w, padding=1)
    assert out.nbytes == 64 * MIB
    assert torch.cuda.max_memory_allocated() < 140 * MIB
    assert out[0, 0, 1, 1] == 9 * 64
