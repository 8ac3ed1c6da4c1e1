"""All that the fused kernels take, against float64: sizes of heads, masks, grouped queries, layouts.

A kernel may be as far from the exact result as the same steps in its own type are, times a factor:
PyTorch's test_transformers.py asks its kernels for that.
"""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

pytestmark = pytest.mark.devices("cuda:1")

FLASH, EFFICIENT = SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION
FACTOR = 4.0


def inputs(dtype, size: int, value: int, heads: int, keys: int, queries: int = 37):
    generator = torch.Generator().manual_seed(0)
    shapes = ((4, queries, size), (heads, keys, size), (heads, keys, value))
    return [torch.randn(2, *shape, generator=generator).to(dtype) for shape in shapes]


def gradients(device: str, dtype, tensors, grad, words) -> list[torch.Tensor]:
    given = [x.to(device, dtype, copy=True).requires_grad_() for x in tensors]
    words = {
        n: (x.to(device) if x.dtype == torch.bool else x.to(device, dtype))
        if isinstance(x, torch.Tensor)
        else x
        for n, x in words.items()
    }
    out = attend(*given, **words)
    out.backward(grad.to(device, dtype))
    return [x.detach().cpu().double() for x in (out, *(g.grad for g in given))]


def check(backend, dtype, size=16, value=None, heads=4, keys=37, **words) -> None:
    tensors = inputs(dtype, size, value or size, heads, keys)
    shape = (*tensors[0].shape[:3], value or size)
    grad = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    with sdpa_kernel(SDPBackend.MATH):
        exact = gradients("cpu", torch.float64, tensors, grad, words)
        rough = gradients("cpu", dtype, tensors, grad, words)
    with sdpa_kernel(backend):
        mine = gradients("cuda", dtype, tensors, grad, words)
    for want, near, got in zip(exact, rough, mine, strict=True):
        allowed = FACTOR * max((near - want).abs().max().item(), 1e-6)
        assert (got - want).abs().max().item() <= allowed


@pytest.mark.parametrize("size", [8, 20, 40, 64, 72, 96, 128, 160, 192, 224, 256])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_heads_of_flash(size, dtype) -> None:
    check(FLASH, dtype, size)


@pytest.mark.parametrize("size", [4, 12, 64, 100, 128, 320])
@pytest.mark.parametrize("value", [None, 8, 136])
def test_heads_of_efficient(size, value) -> None:
    check(EFFICIENT, torch.float32, size, value)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_grouped_queries(heads, causal) -> None:
    check(FLASH, torch.float16, heads=heads, enable_gqa=True, is_causal=causal)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(
    "shape", [(37, 45), (1, 45), (2, 1, 37, 45), (1, 4, 1, 45), (2, 4, 37, 45)]
)
@pytest.mark.parametrize("boolean", [False, True])
def test_masks_of_efficient(dtype, shape, boolean) -> None:
    mask = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    if boolean:
        mask = mask > -1
        mask[..., 0] = True
    check(EFFICIENT, dtype, keys=45, attn_mask=mask)


def test_causal_with_more_keys_than_queries() -> None:
    check(EFFICIENT, torch.float16, keys=45, is_causal=True)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_queries_that_see_nothing(dropout) -> None:
    mask = torch.ones(37, 37, dtype=torch.bool, device="cuda")
    mask[3] = False
    given = [x.cuda().requires_grad_() for x in inputs(torch.float32, 16, 16, 4, 37)]
    with sdpa_kernel(EFFICIENT):
        out = attend(*given, attn_mask=mask, dropout_p=dropout)
    out.sum().backward()
    assert not out[:, :, 3].any() and out[:, :, 4].all()
    assert not given[0].grad[:, :, 3].any()
    assert all(x.grad.isfinite().all() for x in given)


@pytest.mark.parametrize("backend", [FLASH, EFFICIENT])
def test_the_layout_of_the_results(backend) -> None:
    packed = torch.randn(2, 37, 3, 4, 16, device="cuda").half()
    q, k, v = (x.transpose(1, 2) for x in packed.unbind(2))
    with sdpa_kernel(backend):
        out = attend(q, k, v)
    # (batch, step, head, element) in memory, in the way that Linear layers need it.
    assert out.transpose(1, 2).is_contiguous()
    dense = [x.contiguous() for x in (q, k, v)]
    with sdpa_kernel(backend):
        again = attend(*dense)
    # FlashAttention's output lies as the query does.
    assert again.is_contiguous() == (backend is FLASH)
    assert torch.equal(again, out)
