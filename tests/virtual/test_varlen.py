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


def by_name(*arguments, dropout: float = 0.0, causal: bool = False, **words):
    return torch.ops.aten._flash_attention_forward(*arguments, dropout, causal, False, **words)


def test_dropout_of_packed_sequences() -> None:
    q, k, v = (torch.randn(sum(LENGTHS[0]), HEADS, SIZE).half().cuda() for _ in range(3))
    sums = starts(LENGTHS[0]).cuda()
    torch.cuda.manual_seed(11)
    out, logarithms, state, unused, _ = by_name(q, k, v, sums, sums, 7, 7, dropout=0.5)
    assert state.tolist() == [11, 0]
    assert torch.cuda.default_generators[0].get_offset() == len(LENGTHS[0]) * HEADS * 32
    # Each sequence drops what it would as the batch of the same number in a dense call.
    batches = len(LENGTHS[0])
    dense = [torch.zeros(batches, 7, HEADS, SIZE).half().cuda() for _ in range(3)]
    for i, length in enumerate(LENGTHS[0]):
        for whole, packed in zip(dense, (q, k, v), strict=True):
            whole[i, :length] = packed[sums[i] : sums[i] + length]
    for i, length in enumerate(LENGTHS[0]):
        torch.cuda.manual_seed(11)
        want = by_name(*(x[:, : max(length, 1)] for x in dense), None, None, 7, 7, dropout=0.5)[0]
        got = out[sums[i] : sums[i] + length]
        torch.testing.assert_close(got, want[i, :length], rtol=1e-3, atol=1e-3)
    # A loss that is linear in the values has their gradient, if both passes drop the same.
    of_value = torch.ops.aten._flash_attention_backward(
        torch.ones_like(out), q, k, v, out, logarithms, sums, sums, 7, 7, 0.5, False, state, unused
    )[2]
    torch.testing.assert_close(
        (of_value.double() * v.double()).sum(), out.double().sum(), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("of_batches", [False, True])
def test_alibi(causal, of_batches) -> None:
    q, k, v = (torch.randn(2, n, HEADS, SIZE).half() for n in (5, 7, 7))
    slopes = torch.rand(2, HEADS) if of_batches else torch.rand(HEADS)
    out = by_name(
        *(x.cuda() for x in (q, k, v)), None, None, 5, 7, causal=causal, alibi_slopes=slopes.cuda()
    )[0]
    scores = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double()) / math.sqrt(SIZE)
    place = torch.arange(5)[:, None] + 2  # the last query stands at the last key
    distance = (place - torch.arange(7)).abs()
    scores = scores - slopes.double().expand(2, HEADS)[..., None, None] * distance
    if causal:
        scores = scores.masked_fill(torch.arange(7) > place, -math.inf)
    want = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.double())
    torch.testing.assert_close(out.cpu().double(), want, rtol=3e-3, atol=3e-3)


@pytest.mark.skipif("block_table" not in PARAMETERS, reason="torch has pages since 2.12")
def test_pages() -> None:
    page, used = 256, [300, 5]
    pool_k, pool_v = (torch.randn(4, page, 2, SIZE).half() for _ in range(2))
    table = torch.tensor([[3, 1], [0, 2]], dtype=torch.int32)
    q = torch.randn(3, HEADS, SIZE).half()
    sums = torch.tensor([0, 1, 3], dtype=torch.int32)
    of_keys = torch.tensor([0, 512, 1024], dtype=torch.int32)
    out = by_name(
        *(x.cuda() for x in (q, pool_k, pool_v, sums, of_keys)), 2, 512,
        seqused_k=torch.tensor(used, dtype=torch.int32).cuda(), block_table=table.cuda(),
    )[0]  # fmt: skip
    for i, count in enumerate(used):
        keys, values = (
            pool[table[i].long()].flatten(0, 1)[:count].repeat_interleave(HEADS // 2, 1).double()
            for pool in (pool_k, pool_v)
        )
        queries = q[sums[i] : sums[i + 1]].double()
        scores = torch.einsum("qhd,khd->hqk", queries, keys) / math.sqrt(SIZE)
        want = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)
        torch.testing.assert_close(
            out[sums[i] : sums[i + 1]].cpu().double(), want, rtol=3e-3, atol=3e-3
        )
