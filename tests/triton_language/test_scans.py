"""Scans and reductions by a program's own function, and the chunked recurrences of linear attention."""

from __future__ import annotations

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]


@triton.jit
def after(a1, b1, a2, b2):
    """The composition of h -> a1 h + b1 and h -> a2 h + b2."""
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence_kernel(a_ptr, b_ptr, h_ptr, T: tl.constexpr, D: tl.constexpr, REVERSE: tl.constexpr):
    places = tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    _, h = tl.associative_scan(
        (tl.load(a_ptr + places), tl.load(b_ptr + places)), 0, after, reverse=REVERSE
    )
    tl.store(h_ptr + places, h)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 2, 64])
def test_a_linear_recurrence(reverse, length):
    a, b = torch.rand(length, 8, device="cuda"), torch.randn(length, 8, device="cuda")
    h = torch.empty_like(b)
    recurrence_kernel[(1,)](a, b, h, T=length, D=8, REVERSE=reverse)
    state, want = torch.zeros(8, device="cuda"), torch.empty_like(b)
    for t in reversed(range(length)) if reverse else range(length):
        state = a[t] * state + b[t]
        want[t] = state
    torch.testing.assert_close(h, want)


@triton.jit
def sums_kernel(x_ptr, out_ptr, N: tl.constexpr, M: tl.constexpr, AXIS: tl.constexpr):
    places = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, tl.cumsum(x, axis=AXIS))
    tl.store(out_ptr + N * M + places, tl.cumsum(x, axis=AXIS, reverse=True))
    tl.store(out_ptr + 2 * N * M + places, tl.cumprod(x, axis=AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bfloat16])
def test_cumulated_sums_and_products(axis, dtype):
    x = torch.randint(-2, 3, (16, 32), device="cuda").to(dtype)
    out = torch.empty(3, 16, 32, device="cuda", dtype=dtype)
    sums_kernel[(1,)](x, out, N=16, M=32, AXIS=axis)
    assert torch.equal(out[0], x.cumsum(axis).to(dtype))
    assert torch.equal(out[1], x.flip(axis).cumsum(axis).flip(axis).to(dtype))
    assert torch.equal(out[2], x.cumprod(axis).to(dtype))


@triton.jit
def larger(a, i, b, j):
    """Decides by an element, so it cannot be called on whole tensors."""
    if a > b:
        value, place = a, i
    else:
        value, place = b, j
    return value, place


@triton.jit
def keep_last(a, b):
    return b


@triton.jit
def reduce_kernel(x_ptr, v_ptr, i_ptr, last_ptr, N: tl.constexpr, M: tl.constexpr):
    rows, columns = tl.arange(0, N), tl.arange(0, M)
    x = tl.load(x_ptr + rows[:, None] * M + columns[None, :])
    which = tl.broadcast_to(columns[None, :], [N, M])
    value, place = tl.reduce((x, which), 1, larger)
    tl.store(v_ptr + rows, value)
    tl.store(i_ptr + rows, place)
    tl.store(last_ptr + rows, tl.reduce(x, 1, keep_last))


def test_reductions_by_functions_of_the_program():
    x = torch.randn(8, 16, device="cuda")
    value, last = torch.empty(8, device="cuda"), torch.empty(8, device="cuda")
    place = torch.empty(8, device="cuda", dtype=torch.int32)
    reduce_kernel[(1,)](x, value, place, last, N=8, M=16)
    want = x.max(1)
    assert torch.equal(value, want.values) and torch.equal(place.long(), want.indices)
    assert torch.equal(last, x[:, -1])


@triton.jit
def extremes_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    low, at_low = tl.min(x, 0, return_indices=True)
    high, at_high = tl.max(x, 0, return_indices=True)
    tl.store(out_ptr, low)
    tl.store(out_ptr + 1, at_low.to(tl.float32))
    tl.store(out_ptr + 2, high)
    tl.store(out_ptr + 3, at_high.to(tl.float32))
    tl.store(out_ptr + 4, tl.argmax(x, 0).to(tl.float32))
    tl.store(out_ptr + 5, tl.sum(x))
    tl.store(out_ptr + 6, tl.max(tl.where(x == high, float("nan"), x)))
    tl.store(out_ptr + 7, x.max(axis=0) - x.min(axis=0))


def test_extremes_with_their_places():
    """Of equal elements the first one counts, and a number wins against NaN."""
    x = torch.tensor([3.0, -1, 5, -1, 5, 0, 4, 2], device="cuda")
    out = torch.empty(8, device="cuda")
    extremes_kernel[(1,)](x, out, N=8)
    assert out.tolist() == [-1, 1, 5, 2, 2, 17, 4, 6]


@triton.jit
def sort_kernel(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, tl.sort(x))
    tl.store(out_ptr + N + places, tl.sort(x, descending=True))
    tl.store(out_ptr + 2 * N + places, tl.flip(x, 0))


def test_sorting():
    x = torch.randn(64, device="cuda")
    out = torch.empty(3, 64, device="cuda")
    sort_kernel[(1,)](x, out, N=64)
    assert torch.equal(out[0], x.sort().values)
    assert torch.equal(out[1], x.sort(descending=True).values)
    assert torch.equal(out[2], x.flip(0))


@triton.jit
def states_kernel(
    k_ptr, v_ptr, g_ptr, s_ptr, T, BT: tl.constexpr, K: tl.constexpr, V: tl.constexpr
):
    """The state before each chunk of gated linear attention."""
    head = tl.program_id(0)
    state = tl.zeros([K, V], dtype=tl.float32)
    for chunk in range(tl.cdiv(T, BT)):
        p_s = tl.make_block_ptr(
            s_ptr + (head * tl.cdiv(T, BT) + chunk).to(tl.int64) * K * V, (K, V), (V, 1), (0, 0), (K, V), (1, 0)
        )  # fmt: skip
        tl.store(p_s, state, boundary_check=(0, 1))
        p_k = tl.make_block_ptr(
            k_ptr + head * T * K, (K, T), (1, K), (0, chunk * BT), (K, BT), (0, 1)
        )
        p_v = tl.make_block_ptr(
            v_ptr + head * T * V, (T, V), (V, 1), (chunk * BT, 0), (BT, V), (1, 0)
        )
        k = tl.load(p_k, boundary_check=(0, 1))
        v = tl.load(p_v, boundary_check=(0, 1))
        rows = chunk * BT + tl.arange(0, BT)
        g = tl.load(g_ptr + head * T + rows, mask=rows < T, other=0.0)
        gathered = tl.cumsum(g, axis=0)
        last = tl.sum(g, axis=0)
        state = state * tl.exp(last) + tl.dot(k * tl.exp(last - gathered)[None, :], v)


@triton.jit
def outputs_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, s_ptr, o_ptr, T, BT: tl.constexpr, K: tl.constexpr, V: tl.constexpr
):  # fmt: skip
    chunk, head = tl.program_id(0), tl.program_id(1)
    rows = chunk * BT + tl.arange(0, BT)
    inside = (rows < T)[:, None]
    width_k, width_v = tl.arange(0, K)[None, :], tl.arange(0, V)[None, :]
    q = tl.load(q_ptr + head * T * K + rows[:, None] * K + width_k, mask=inside, other=0.0)
    k = tl.load(k_ptr + head * T * K + rows[:, None] * K + width_k, mask=inside, other=0.0)
    v = tl.load(v_ptr + head * T * V + rows[:, None] * V + width_v, mask=inside, other=0.0)
    g = tl.cumsum(tl.load(g_ptr + head * T + rows, mask=rows < T, other=0.0), axis=0)
    s_ptr += (head * tl.cdiv(T, BT) + chunk) * K * V
    s = tl.load(s_ptr + tl.arange(0, K)[:, None] * V + width_v)
    scores = tl.dot(q, tl.trans(k)) * tl.exp(g[:, None] - g[None, :])
    scores = tl.where(rows[:, None] >= rows[None, :], scores, 0.0)
    out = tl.dot(q, s) * tl.exp(g)[:, None] + tl.dot(scores, v)
    tl.store(o_ptr + head * T * V + rows[:, None] * V + width_v, out, mask=inside)


@pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9),
    reason="no block pointers since 3.9",
)
def test_chunks_of_gated_linear_attention():
    heads, length, size = 2, 50, 16  # the last chunk is not full
    q, k, v = (torch.randn(heads, length, 16, device="cuda") for _ in range(3))
    g = torch.nn.functional.logsigmoid(torch.randn(heads, length, device="cuda"))
    chunks = triton.cdiv(length, size)
    states = torch.empty(heads, chunks, 16, 16, device="cuda")
    out = torch.empty(heads, length, 16, device="cuda")
    states_kernel[(heads,)](k, v, g, states, length, BT=size, K=16, V=16)
    outputs_kernel[(chunks, heads)](q, k, v, g, states, out, length, BT=size, K=16, V=16)
    state, want = torch.zeros(heads, 16, 16, device="cuda"), torch.empty_like(out)
    for t in range(length):
        state = state * g[:, t].exp()[:, None, None] + k[:, t, :, None] * v[:, t, None, :]
        want[:, t] = (q[:, t, None, :] @ state)[:, 0]
    torch.testing.assert_close(out, want, atol=1e-4, rtol=1e-4)
