"""cuDNN's attention under its own name, where a device takes it."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

pytestmark = pytest.mark.devices("cuda:1")

ops = torch.ops.aten


def inputs(size: int = 16, heads: tuple[int, int, int] = (4, 4, 4), steps: int = 9):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, n, steps, size, generator=generator).half() for n in heads]


def on(device: str, words: dict) -> dict:
    to = {"device": device} if device == "cuda" else {"dtype": torch.float64}
    return {
        name: x.to(**to if x.is_floating_point() or device == "cuda" else {})
        if isinstance(x, torch.Tensor)
        else x
        for name, x in words.items()
    }


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"is_causal": True},
        {"scale": 0.5},
        {"attn_mask": torch.rand(9, 9, generator=torch.Generator().manual_seed(1)) > 0.3},
        {"attn_mask": torch.randn(2, 1, 9, 9, generator=torch.Generator().manual_seed(1)).half()},
    ],
)
def test_values_and_gradients(words) -> None:
    on_device = [x.cuda().requires_grad_() for x in inputs()]
    exact = [x.double().requires_grad_() for x in inputs()]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = attend(*on_device, **on("cuda", words))
    assert out.grad_fn.name() == "ScaledDotProductCudnnAttentionBackward0"
    want = attend(*exact, **on("cpu", words))
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(2)).half()
    out.backward(grad.cuda())
    want.backward(grad.double())
    pairs = [(out, want), *((a.grad, b.grad) for a, b in zip(on_device, exact, strict=True))]
    for mine, other in pairs:
        torch.testing.assert_close(mine.cpu().double(), other, rtol=5e-3, atol=5e-3)


def test_grouped_queries_with_heads_of_their_own() -> None:
    q, k, v = inputs(heads=(4, 2, 1))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = attend(q.cuda(), k.cuda(), v.cuda(), enable_gqa=True)
    want = attend(
        q.double(), k.double().repeat_interleave(2, 1), v.double().repeat_interleave(4, 1)
    )
    torch.testing.assert_close(out.cpu().double(), want, rtol=5e-3, atol=5e-3)


def test_the_operator_by_name() -> None:
    # The query lies in memory as (batch, step, head, element), and so does the output.
    q, k, v = (x.cuda().transpose(1, 2).contiguous().transpose(1, 2) for x in inputs())
    torch.cuda.manual_seed(5)
    results = ops._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.5)
    out, sums, _, _, most_q, most_k, seed, offset, mask = results
    assert out.stride() == q.stride() and (most_q, most_k) == (9, 9)
    assert sums.shape == (2, 4, 9, 1) and sums.dtype == torch.float32
    assert (seed.item(), offset.item()) == (5, 0) and seed.is_cuda and offset.is_cuda
    assert torch.cuda.default_generators[0].get_offset() == 2 * 4 * 9 * 9 and mask is None
    scores = q.cpu().double() @ k.cpu().double().mT / math.sqrt(16)
    torch.testing.assert_close(
        sums[..., 0].cpu().double(), scores.logsumexp(-1), rtol=1e-5, atol=1e-5
    )
    assert ops._scaled_dot_product_cudnn_attention(q, k, v, None, False)[1] is None
    # Both passes drop the same: a loss that is linear in the values has their gradient.
    arguments = (out, sums, seed, offset, None, None, None, 9, 9, 0.5, False)
    of_value = ops._scaled_dot_product_cudnn_attention_backward(
        torch.ones_like(out), q, k, v, *arguments
    )[2]
    torch.testing.assert_close(
        (of_value.double() * v.double()).sum(), out.double().sum(), rtol=2e-2, atol=2e-2
    )


def test_what_is_refused() -> None:
    q, k, v = (x.cuda() for x in inputs())
    with pytest.raises(RuntimeError, match="cuDNN attention only supports float16 and bfloat16"):
        ops._scaled_dot_product_cudnn_attention(*(x.float() for x in (q, k, v)), None, True)
    for changed, words, text in (
        ({"steps": 1}, {}, "cudnn SDPA does not support key/value sequence length 1"),
        ({"size": 136}, {}, "head_dim should be no more than 128"),
        ({"size": 12}, {}, "head_dim should be a multiple of 8"),
        ({}, {"attn_mask": torch.zeros(4, 9, 9).half()}, "Please use the following attn mask"),
    ):
        with (
            sdpa_kernel(SDPBackend.CUDNN_ATTENTION),
            pytest.warns(UserWarning, match=text),
            pytest.raises(RuntimeError, match="No available kernel"),
        ):
            attend(*(x.cuda() for x in inputs(**changed)), **on("cuda", words))
    torch.use_deterministic_algorithms(True)
    try:
        with (
            sdpa_kernel(SDPBackend.CUDNN_ATTENTION),
            pytest.warns(UserWarning, match="cuDNN SDPA is not deterministic"),
            pytest.raises(RuntimeError, match="No available kernel"),
        ):
            attend(q, k, v)
    finally:
        torch.use_deterministic_algorithms(False)


CHOICE = """
import torch
q, k, v = (torch.randn(1, 4, 8, 16, device="cuda", dtype=torch.half, requires_grad=True) for _ in "qkv")
print(torch._fused_sdp_choice(q, k, v), torch._fused_sdp_choice(*(x.float() for x in (q, k, v))))
out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
print(out.grad_fn.name())
"""


@pytest.mark.parametrize(
    ("profile", "settings", "kernel"),
    [
        ("a100-80g", {}, "Flash"),
        ("h100-80g", {}, "Cudnn"),
        ("h100-80g", {"TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"}, "Flash"),
        ("rtx-4090", {}, "Flash"),
        ("t4", {}, "Efficient"),
    ],
)
def test_the_devices_that_prefer_it(
    run_virtual: Callable[..., subprocess.CompletedProcess], profile, settings, kernel
) -> None:
    # Its fault with some lengths is repaired since cuDNN 9.15.2, which torch has since 2.10.
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11) and kernel == "Cudnn":
        pytest.skip("this torch comes with an older cuDNN")
    numbers, name = run_virtual(
        CHOICE, devices=f"cuda:1,profile={profile}", **settings
    ).stdout.split("\n")[:2]
    assert numbers == f"{ {'Cudnn': 3, 'Flash': 1, 'Efficient': 2}[kernel] } 2"
    assert name == f"ScaledDotProduct{kernel}AttentionBackward0"
