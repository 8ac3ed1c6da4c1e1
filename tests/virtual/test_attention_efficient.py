"""The memory-efficient kernel's own operators, as xFormers and nested tensors call them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

forward = torch.ops.aten._efficient_attention_forward
backward = torch.ops.aten._efficient_attention_backward
HEADS, SIZE = 2, 16
NONE, TOP_LEFT, BOTTOM_RIGHT = range(3)
LENGTHS = ([5, 1, 7], [5, 3, 4])


def starts(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def seen(queries: int, keys: int, mask: int, window: int | None) -> torch.Tensor:
    shift = keys - queries if mask == BOTTOM_RIGHT else 0
    distance = torch.arange(queries)[:, None] + shift - torch.arange(keys)[None]
    result = torch.ones(queries, keys, dtype=torch.bool)
    if mask != NONE:
        result &= distance >= 0
    if window is not None:
        result &= distance < window
    return result


def spelled_out(q, k, v, mask=NONE, window=None, bias=None, scale=None):
    """Of one sequence: (step, head, element); also the logarithms (head, step)."""
    scores = torch.einsum("qhd,khd->hqk", q, k) * (scale or 1 / math.sqrt(q.shape[-1]))
    if bias is not None:
        scores = scores + bias
    visible = seen(q.shape[0], k.shape[0], mask, window)
    scores = scores.masked_fill(~visible, -math.inf)
    weights = scores.softmax(-1).masked_fill(~visible.any(-1)[:, None], 0)
    return torch.einsum("hqk,khd->qhd", weights, v), scores.logsumexp(-1)


def tensors(queries: int, keys: int, dtype=torch.float32, value: int = SIZE, batch: int = 1):
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(batch, steps, HEADS, size, generator=generator).to(dtype)
        for steps, size in ((queries, SIZE), (keys, SIZE), (keys, value))
    ]


def close(mine: torch.Tensor, other: torch.Tensor, dtype=torch.float32) -> None:
    tolerance = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}[dtype]
    torch.testing.assert_close(mine.cpu().double(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("mask", "window"), [(NONE, None), (TOP_LEFT, None), (BOTTOM_RIGHT, None), (BOTTOM_RIGHT, 2)]
)
@pytest.mark.parametrize("value", [SIZE, 24])
def test_packed_sequences(dtype, mask, window, value) -> None:
    q, k, v = tensors(sum(LENGTHS[0]), sum(LENGTHS[1]), dtype, value)
    on_device = [x.cuda() for x in (q, k, v)]
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    sums = [starts(lengths) for lengths in LENGTHS]
    out, logarithms, seed, offset, most_q, most_k = forward(
        *on_device, None, *(x.cuda() for x in sums), 7, 5, 0.0, mask, True, window_size=window
    )
    assert (most_q, most_k) == (7, 5)
    assert out.shape == (1, 13, HEADS, value) and logarithms.shape == (3, HEADS, 32)
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    wanted = []
    for i in range(3):
        queries, keys = (slice(int(x[i]), int(x[i + 1])) for x in sums)
        parts = (exact[0][0, queries], exact[1][0, keys], exact[2][0, keys])
        result, rows = spelled_out(*parts, mask, window)
        wanted.append(result)
        some = seen(result.shape[0], parts[1].shape[0], mask, window).any(-1)
        close(logarithms[i, :, : result.shape[0]][:, some], rows[:, some].detach(), dtype)
        assert logarithms[i, :, result.shape[0] :].isinf().all()
    want = torch.cat(wanted)[None]
    close(out, want, dtype)
    want.backward(grad.double())
    gradients = backward(
        grad.cuda(), *on_device, None, out, *(x.cuda() for x in sums), 7, 5, logarithms, 0.0, seed,
        offset, mask, False, window_size=window,
    )  # fmt: skip
    for mine, other in zip(gradients, exact, strict=False):
        close(mine, other.grad, dtype)


def test_fewer_keys_than_the_sequences_have() -> None:
    q, k, v = tensors(sum(LENGTHS[0]), sum(LENGTHS[1]))
    used = [2, 3, 1]
    sums = [starts(lengths) for lengths in LENGTHS]
    lengths = torch.tensor(used, dtype=torch.int32)
    out = forward(
        *(x.cuda() for x in (q, k, v, None or starts([0]))[:3]), None,
        *(x.cuda() for x in sums), 7, 5, 0.0, NONE, seqlen_k=lengths.cuda(),
    )[0]  # fmt: skip
    for i, count in enumerate(used):
        queries = slice(int(sums[0][i]), int(sums[0][i + 1]))
        keys = slice(int(sums[1][i]), int(sums[1][i]) + count)
        want, _ = spelled_out(*(x.double() for x in (q[0, queries], k[0, keys], v[0, keys])))
        close(out[0, queries], want)


def test_a_bias_and_its_gradient() -> None:
    q, k, v = tensors(6, 8, batch=2)
    bias = torch.randn(2, HEADS, 6, 8, generator=torch.Generator().manual_seed(2))
    on_device = [x.cuda().requires_grad_() for x in (q, k, v, bias)]
    exact = [x.double().requires_grad_() for x in (q, k, v, bias)]
    out = forward(*on_device, None, None, None, None, 0.0, TOP_LEFT, True, scale=0.5)[0]
    want = torch.stack(
        [
            spelled_out(*(x[i] for x in exact[:3]), TOP_LEFT, bias=exact[3][i], scale=0.5)[0]
            for i in range(2)
        ]
    )
    close(out, want)
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
    out.backward(grad.cuda())
    want.backward(grad.double())
    for mine, other in zip(on_device, exact, strict=True):
        close(mine.grad, other.grad)


def test_gradients_may_share_memory() -> None:
    q, k, v = (x.cuda() for x in tensors(6, 6))
    out, logarithms, seed, offset, _, _ = forward(
        q, k, v, None, None, None, None, None, 0.0, NONE, True
    )
    arguments = (torch.ones_like(out), q, k, v, None, out, None, None, 6, 6, logarithms, 0.0, seed)
    shared = backward(*arguments, offset, NONE, False, shared_storage_dqdkdv=True)
    apart = backward(*arguments, offset, NONE, False)
    for mine, other in zip(shared[:3], apart[:3], strict=True):
        assert torch.equal(mine, other)
        assert mine.untyped_storage().data_ptr() == shared[0].untyped_storage().data_ptr()


def test_dropout_of_packed_sequences() -> None:
    """Each matrix begins at the offset, as the kernel does with the sizes that it is given."""
    q, k, v = (x.cuda() for x in tensors(sum(LENGTHS[0]), sum(LENGTHS[1])))
    sums = [starts(lengths).cuda() for lengths in LENGTHS]
    torch.cuda.manual_seed(3)
    out, logarithms, seed, offset, _, _ = forward(
        q, k, torch.ones_like(v), None, *sums, 7, 5, 0.5, NONE, True
    )
    for i in range(3):
        queries, keys = LENGTHS[0][i], LENGTHS[1][i]
        numbers = torch.empty(1, 1, queries, keys, device="cuda")
        torch.ops.aten._fill_mem_eff_dropout_mask_(numbers, 0.5, 3, 0)
        kept = (numbers[0, 0] > 0.5).cpu().double()
        begin, key = int(sums[0][i]), int(sums[1][i])
        scores = torch.einsum(
            "qhd,khd->hqk",
            *(x.cpu().double() for x in (q[0, begin : begin + queries], k[0, key : key + keys])),
        )
        want = ((scores / math.sqrt(SIZE)).softmax(-1) * kept * 2).sum(-1)
        close(out[0, begin : begin + queries, :, 0], want.mT)
    gradients = backward(
        torch.ones_like(out), q, k, torch.ones_like(v), None, out, *sums, 7, 5, logarithms, 0.5, seed,
        offset, NONE, False,
    )  # fmt: skip
    # Of values that are all equal to one: the kept weights of each key.
    assert gradients[2].sum().item() == pytest.approx(out.sum().item(), rel=1e-5)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"mask": 3}, "invalid value for `custom_mask_type`"),
        ({"window": 2}, "custom_mask_type not supported"),
        ({"double": True}, "Only fp32, half & bf16 supported at the moment"),
        ({"size": 2}, "cutlassF: no kernel found to launch!"),
        ({"bias": (1, HEADS, 6, 4)}, r"attn_bias: wrong shape \(seqlenKV dimension\)"),
        ({"batch": 2}, "cu_seqlen only supports batch_size=1"),
    ],
)
def test_what_is_refused(changed, text) -> None:
    q, k, v = (x.cuda() for x in tensors(6, 8, batch=changed.get("batch", 1)))
    if "double" in changed:
        q, k, v = q.double(), k.double(), v.double()
    if "size" in changed:
        q, k, v = (x[..., :2].contiguous() for x in (q, k, v))
    bias = torch.zeros(changed["bias"], device="cuda") if "bias" in changed else None
    sums = [starts([n]).cuda() if "batch" in changed else None for n in (6, 8)]
    with pytest.raises(RuntimeError, match=text):
        forward(
            q, k, v, bias, *sums, 6, 8, 0.0, changed.get("mask", NONE),
            window_size=changed.get("window"),
        )  # fmt: skip
