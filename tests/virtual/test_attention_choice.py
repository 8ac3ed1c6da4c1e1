"""Which kernel of attention a device takes, by its profile, and the words if it takes none."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.backends.cuda import (
    SDPAParams,
    can_use_cudnn_attention,
    can_use_efficient_attention,
    can_use_flash_attention,
)
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

pytestmark = pytest.mark.devices("cuda:1")

MATH, FLASH, EFFICIENT = 0, 1, 2


def tensors(dtype: torch.dtype = torch.float16, size: int = 16, heads: int = 2):
    q = torch.randn(1, 4, 8, size, device="cuda", dtype=dtype)
    k, v = (torch.randn(1, heads, 8, size, device="cuda", dtype=dtype) for _ in "kv")
    return q, k, v


def choice(*arguments, **words) -> int:
    return torch._fused_sdp_choice(*arguments, **words)


def reasons(*backends: SDPBackend, dtype=torch.float16, size=16, **words) -> str:
    """The warnings before "No available kernel"."""
    q, k, v = tensors(dtype, size, heads=4)
    with (
        warnings.catch_warnings(record=True) as told,
        sdpa_kernel(list(backends)),
        pytest.raises(RuntimeError, match=r"No available kernel\. Aborting execution"),
    ):
        warnings.simplefilter("always")
        attend(q, k, v, **words)
    return "\n".join(str(one.message) for one in told)


def test_the_choice_is_that_of_the_device() -> None:
    q, k, v = tensors(heads=4)
    mask = torch.ones(8, 8, dtype=torch.bool, device="cuda")
    assert choice(q, k, v) == FLASH
    assert choice(q, k, v, mask) == EFFICIENT
    assert choice(*(x.float() for x in (q, k, v))) == EFFICIENT
    assert choice(*(x.double() for x in (q, k, v))) == MATH
    assert choice(*(x[..., :5].float() for x in (q, k, v))) == MATH
    assert choice(q[:, :, :4], k, v, is_causal=True) == EFFICIENT
    assert choice(*tensors(heads=2), enable_gqa=True) == FLASH
    assert choice(q, k, v, None, 0.5) == FLASH


def test_a_program_may_allow_one_kernel() -> None:
    q, k, v = tensors(heads=4)
    expected = torch.softmax(q.float() @ k.float().mT / 4, -1) @ v.float()
    for backend in (
        SDPBackend.MATH,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ):
        with sdpa_kernel(backend):
            out = attend(q, k, v)
        torch.testing.assert_close(out.float(), expected, rtol=1e-2, atol=1e-2)


def test_gradients_go_through_each_kernel() -> None:
    q, k, v = (x.float().requires_grad_() for x in tensors(heads=4))
    attend(q, k, v).sum().backward()
    expected = [x.grad.clone() for x in (q, k, v)]
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        halves = [x.detach().half().requires_grad_() for x in (q, k, v)]
        with sdpa_kernel(backend):
            out = attend(*halves)
        name = "Flash" if backend is SDPBackend.FLASH_ATTENTION else "Efficient"
        assert name in type(out.grad_fn).__name__
        out.sum().backward()
        for half, full in zip(halves, expected, strict=True):
            torch.testing.assert_close(half.grad.float(), full, rtol=2e-2, atol=2e-2)


def test_no_kernel_says_why() -> None:
    assert "query, key and value to all be of dtype: {Half, BFloat16}" in reasons(
        SDPBackend.FLASH_ATTENTION, dtype=torch.float32
    )
    assert "divisible by 8" in reasons(SDPBackend.EFFICIENT_ATTENTION, size=12)
    mask = torch.ones(8, 8, dtype=torch.bool, device="cuda")
    assert "does not support non-null attn_mask" in reasons(
        SDPBackend.FLASH_ATTENTION, attn_mask=mask
    )
    assert "head_dim should be no more than 128" in reasons(SDPBackend.CUDNN_ATTENTION, size=136)


def test_what_is_asked_beforehand() -> None:
    q, k, v = tensors(heads=4)
    half = SDPAParams(q, k, v, None, 0.0, False, False)
    full = SDPAParams(q.float(), k.float(), v.float(), None, 0.0, False, False)
    on_cpu = SDPAParams(q.cpu(), k.cpu(), v.cpu(), None, 0.0, False, False)
    assert can_use_flash_attention(half) and can_use_efficient_attention(half)
    assert can_use_cudnn_attention(half)
    assert can_use_efficient_attention(full) and not can_use_flash_attention(full)
    assert not can_use_flash_attention(on_cpu)
    with pytest.warns(UserWarning, match="Half, BFloat16"):
        assert not can_use_flash_attention(full, debug=True)
    assert torch.backends.cuda.math_sdp_enabled() and torch.backends.cuda.flash_sdp_enabled()
    with sdpa_kernel(SDPBackend.MATH):
        assert not can_use_flash_attention(half)


def test_a_lazy_clone_has_memory_of_its_own() -> None:
    x = torch.arange(6.0, device="cuda").view(2, 3).t()
    copy = torch._lazy_clone(x)
    copy.add_(1)
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]] and copy.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert copy.stride() == x.stride()
