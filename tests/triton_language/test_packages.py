"""Kernels of packages on PyPI against plain PyTorch (deps/triton.txt)."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
import torch.nn.functional as functional

pytest.importorskip("triton", reason="Triton is not installed")

pytestmark = [
    pytest.mark.devices("cuda:1", profile="h100-80g"),
    pytest.mark.usefixtures("seeded"),
]


def of(module: str, name: str) -> Any:
    found = pytest.importorskip(module, reason=f"{module.partition('.')[0]} is not installed")
    return getattr(found, name)


def numbers(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*size, device="cuda", dtype=dtype)


def compare(function, reference, *tensors: torch.Tensor, close: float) -> None:
    """Results and gradients differ by at most `close` of the largest number."""
    results = []
    for one in (function, reference):
        given = [t.detach().clone().requires_grad_() for t in tensors]
        out = one(*given)
        out = out[0] if isinstance(out, tuple) else out
        torch.manual_seed(1)
        out.backward(torch.randn(out.shape, device="cuda").to(out.dtype))
        results.append([out.detach(), *(t.grad for t in given)])
    for mine, want in zip(*results, strict=True):
        error = (mine.double() - want.double()).abs().max() / want.double().abs().max().clamp(
            min=1e-6
        )
        assert error <= close, error


LIGER = {
    "rms_norm": (
        "LigerRMSNormFunction",
        lambda f, x, w: f.apply(x, w, 1e-6),
        lambda x, w: functional.rms_norm(x, (64,), w, 1e-6),
        [(4, 16, 64), (64,)],
    ),
    "layer_norm": (
        "LigerLayerNormFunction",
        lambda f, x, w, b: f.apply(x, w, b, 1e-6),
        lambda x, w, b: functional.layer_norm(x, (64,), w, b, 1e-6),
        [(4, 16, 64), (64,), (64,)],
    ),
    "group_norm": (
        "LigerGroupNormFunction",
        lambda f, x, w, b: f.apply(x, w, b, 8, 4, 1e-5),
        lambda x, w, b: functional.group_norm(x, 4, w, b, 1e-5),
        [(2, 8, 32), (8,), (8,)],
    ),
    "swiglu": (
        "LigerSiLUMulFunction",
        lambda f, a, b: f.apply(a, b),
        lambda a, b: functional.silu(a) * b,
        [(4, 16, 64), (4, 16, 64)],
    ),
    "geglu": (
        "LigerGELUMulFunction",
        lambda f, a, b: f.apply(a, b),
        lambda a, b: functional.gelu(a, approximate="tanh") * b,
        [(4, 16, 64), (4, 16, 64)],
    ),
    "softmax": (
        "LigerSoftmaxFunction",
        lambda f, x: f.apply(x),
        lambda x: functional.softmax(x, -1),
        [(16, 100)],
    ),
    "dyt": (
        "LigerDyTFunction",
        lambda f, x, a, g, b: f.apply(x, a, g, b),
        lambda x, a, g, b: torch.tanh(a * x) * g + b,
        [(16, 64), (1,), (64,), (64,)],
    ),
    "fused_add_rms_norm": (
        "LigerFusedAddRMSNormFunction",
        lambda f, x, r, w: f.apply(x, r, w, 1e-6)[0],
        lambda x, r, w: functional.rms_norm(x + r, (64,), w, 1e-6),
        [(4, 16, 64), (4, 16, 64), (64,)],
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", LIGER)
def test_layers_of_liger_kernel(name, dtype):
    kind, call, reference, shapes = LIGER[name]
    function = of(f"liger_kernel.ops.{name}", kind)
    tensors = [numbers(*shape, dtype=dtype) for shape in shapes]
    close = 1e-5 if dtype == torch.float32 else 2e-2
    compare(lambda *given: call(function, *given), reference, *tensors, close=close)


def test_losses_of_liger_kernel():
    cross_entropy = of("liger_kernel.ops.cross_entropy", "LigerCrossEntropyFunction")
    fused = of(
        "liger_kernel.ops.fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction"
    )
    divergence = of("liger_kernel.ops.kl_div", "LigerKLDivLossFunction")
    target = torch.randint(0, 100, (32,), device="cuda")
    compare(
        lambda x: cross_entropy.apply(x, target, None),
        lambda x: functional.cross_entropy(x, target),
        numbers(32, 100),
        close=1e-5,
    )
    compare(
        lambda x, w: fused.apply(x, w, target),
        lambda x, w: functional.cross_entropy(x @ w.T, target),
        numbers(32, 64) * 0.1,
        numbers(100, 64) * 0.1,
        close=1e-5,
    )
    y = torch.softmax(numbers(16, 64), -1)
    compare(
        lambda x: divergence.apply(functional.log_softmax(x, -1), y, "batchmean"),
        lambda x: functional.kl_div(functional.log_softmax(x, -1), y, reduction="batchmean"),
        numbers(16, 64),
        close=1e-5,
    )


def test_rotary_embedding_of_liger_kernel():
    rope = of("liger_kernel.ops.rope", "LigerRopeFunction")
    q, k = numbers(2, 4, 16, 32), numbers(2, 2, 16, 32)
    steps = 1 / (10000 ** (torch.arange(0, 32, 2, device="cuda") / 32))
    angles = torch.outer(torch.arange(16, device="cuda"), steps).repeat(1, 2)
    cos, sin = angles.cos()[None], angles.sin()[None]

    def turned(x: torch.Tensor) -> torch.Tensor:
        low, high = x.chunk(2, -1)
        return x * cos[:, None] + torch.cat([-high, low], -1) * sin[:, None]

    got = rope.apply(q.clone(), k.clone(), cos, sin)
    for one, other in zip(got, (q, k), strict=True):
        torch.testing.assert_close(one, turned(other))


FLA = {
    "simple_gla": ("chunk_simple_gla", "naive_recurrent_simple_gla", False),
    "gla": ("chunk_gla", "naive_recurrent_gla", True),
}


@pytest.mark.parametrize("name", FLA)
def test_chunks_of_flash_linear_attention(name):
    chunked, naive, per_key = FLA[name]
    function = of(f"fla.ops.{name}", chunked)
    reference = of(f"fla.ops.{name}.naive", naive)
    shape = (1, 96, 2, 16)
    gate = numbers(*shape) if per_key else numbers(*shape[:3])
    log = functional.logsigmoid
    compare(
        lambda q, k, v, g: function(q, k, v, log(g)),
        lambda q, k, v, g: reference(q, k, v, log(g)),
        numbers(*shape), numbers(*shape), numbers(*shape), gate,
        close=1e-4,
    )  # fmt: skip


def test_gated_delta_rule_of_flash_linear_attention():
    function = of("fla.ops.gated_delta_rule", "chunk_gated_delta_rule")
    reference = importlib.import_module("fla.ops.gated_delta_rule.naive")
    q, v = numbers(1, 96, 2, 16), numbers(1, 96, 2, 16)
    k = functional.normalize(numbers(1, 96, 2, 16), dim=-1)
    g, beta = functional.logsigmoid(numbers(1, 96, 2)), numbers(1, 96, 2).sigmoid()
    got = function(q, k, v, g=g, beta=beta)[0]
    want = reference.naive_recurrent_gated_delta_rule(q, k, v, beta=beta, g=g)[0]
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
