"""FlashAttention on packed sequences: values and gradients are those of attention spelled out."""

import inspect
import itertools
import math

import pytest
import torch

varlen = pytest.importorskip("torch.nn.attention.varlen", reason="torch has it since 2.10")
PARAMETERS = inspect.signature(varlen.varlen_attn).parameters
pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


torch.manual_seed(0)
HEADS, SIZE = 4, 8
LENGTHS = ([5, 1, 0, 7], [5, 3, 2, 4])


def starts(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def spelled_out(q, k, v, lengths, left: int, right: int):
    outputs, q_at, k_at = [], 0, 0
    for queries, keys in zip(*lengths, strict=True):
        a, b, c = q[q_at : q_at + queries], k[k_at : k_at + keys], v[k_at : k_at + keys]
        q_at, k_at = q_at + queries, k_at + keys
        b, c = (t.repeat_interleave(HEADS // t.shape[1], 1) for t in (b, c))
        scores = torch.einsum("qhd,khd->hqk", a, b) / math.sqrt(SIZE)
        place = torch.arange(queries)[:, None] + keys - queries
        key = torch.arange(keys)[None]
        seen = torch.ones(queries, keys, dtype=torch.bool)
        if left >= 0:
            seen &= key >= place - left
        if right >= 0:
            seen &= key <= place + right
        scores = scores.masked_fill(~seen, -math.inf).softmax(-1)
        scores = scores.masked_fill(~seen.any(-1)[:, None], 0)
        outputs.append(torch.einsum("hqk,khd->qhd", scores, c))
    return torch.cat(outputs)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (2, 0), (1, 1), (0, 3)])
@pytest.mark.parametrize("key_heads", [HEADS, 2])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_packed_sequences(window, key_heads, dtype) -> None:
    options = {"window_size": window, "enable_gqa": key_heads != HEADS}
    if "window_size" not in PARAMETERS:  # before torch 2.11
        options["is_causal"] = window == (-1, 0)
    # Before torch 2.12 there are no grouped heads here, and no other windows before 2.11.
    needed = {"enable_gqa"} if key_heads != HEADS else set()
    needed |= {"window_size"} if window not in ((-1, -1), (-1, 0)) else set()
    if needed - PARAMETERS.keys():
        pytest.skip(f"this torch does not have {needed - PARAMETERS.keys()}")
    options = {name: value for name, value in options.items() if name in PARAMETERS}
    q = torch.randn(sum(LENGTHS[0]), HEADS, SIZE).to(dtype)
    k, v = (torch.randn(sum(LENGTHS[1]), key_heads, SIZE).to(dtype) for _ in range(2))
    grad = torch.randn(q.shape).to(dtype)
    exact = [t.double().requires_grad_() for t in (q, k, v)]
    want = spelled_out(*exact, LENGTHS, *window)
    want.backward(grad.double())
    on_device = [t.cuda().requires_grad_() for t in (q, k, v)]
    sums = [starts(lengths).cuda() for lengths in LENGTHS]
    got = varlen.varlen_attn(*on_device, *sums, *map(max, LENGTHS), **options)
    got.backward(grad.cuda())
    assert got.is_cuda and got.shape == q.shape and got.dtype == dtype
    for mine, other in (
        (got, want),
        *((a.grad, b.grad) for a, b in zip(on_device, exact, strict=True)),
    ):
        torch.testing.assert_close(mine.cpu().double(), other, rtol=3e-2, atol=3e-2)


def test_dense_as_the_package_calls_it() -> None:
    # Dense, as FlashAttention's own package calls it: (batch, step, head, element).
    q, k, v = (torch.randn(2, 6, HEADS, SIZE).half().cuda() for _ in range(3))
    got, logarithms, *_ = torch.ops.aten._flash_attention_forward(
        q, k, v, None, None, 6, 6, 0.0, True, False
    )
    want = torch.nn.functional.scaled_dot_product_attention(
        *(t.cpu().float().transpose(1, 2) for t in (q, k, v)), is_causal=True
    )
    torch.testing.assert_close(got.cpu().float().transpose(1, 2), want, rtol=3e-2, atol=3e-2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q.cpu().float(), k.cpu().float()) / math.sqrt(SIZE)
    scores = scores.masked_fill(~torch.ones(6, 6, dtype=torch.bool).tril(), -math.inf)
    torch.testing.assert_close(logarithms.cpu(), scores.logsumexp(-1), rtol=3e-2, atol=3e-2)


def test_what_is_refused() -> None:
    q, k, v = (torch.randn(2, 6, HEADS, SIZE).half().cuda() for _ in range(3))
    for changed, error, text in (
        ({"q": q.float()}, RuntimeError, "FlashAttention only support fp16 and bf16 data type"),
        ({"q": q[..., :4]}, RuntimeError, "head_size must be a multiple of 8"),
        ({"dropout": 1.0}, RuntimeError, "p_dropout < 1.f"),
    ):
        with pytest.raises(error, match=text):
            torch.ops.aten._flash_attention_forward(
                changed.get("q", q),
                k,
                v,
                None,
                None,
                6,
                6,
                changed.get("dropout", 0.0),
                False,
                False,
            )
