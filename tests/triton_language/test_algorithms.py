"""The algorithms of Triton's public tutorials, written anew, against plain PyTorch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as functional

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language
libdevice = pytest.importorskip("triton.language.extra.libdevice")

pytestmark = [
    pytest.mark.devices("cuda:1", profile="h100-80g"),
    pytest.mark.usefixtures("seeded"),
]


def numbers(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*size, device="cuda", dtype=dtype)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    total = tl.load(x_ptr + places, mask=inside) + tl.load(y_ptr + places, mask=inside)
    tl.store(out_ptr + places, total, mask=inside)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int8]
)
def test_vectors_are_added(dtype):
    x, y = ((numbers(1000) * 9).to(dtype) for _ in range(2))
    out = torch.zeros(1100, device="cuda", dtype=dtype)
    add_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=128)
    assert torch.equal(out[:1000], x + y)
    assert not out[1000:].any()


@triton.jit
def softmax_kernel(out_ptr, in_ptr, stride, columns, rows, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        places = tl.arange(0, BLOCK)
        inside = places < columns
        values = tl.load(in_ptr + row * stride + places, mask=inside, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out_ptr + row * stride + places, powers / tl.sum(powers, axis=0), mask=inside)


def test_softmax_of_rows():
    x = numbers(37, 781)
    out = torch.empty_like(x)
    softmax_kernel[(8,)](out, x, x.stride(0), 781, 37, BLOCK=1024)
    torch.testing.assert_close(out, x.softmax(-1))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 32, "BK": 32, "GROUP": 4}, num_warps=4, num_stages=3),
        triton.Config({"BM": 32, "BN": 64, "BK": 32, "GROUP": 4}, num_warps=2, num_stages=5),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACT: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    blocks_m, blocks_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    first = (pid // in_group) * GROUP
    size = min(blocks_m - first, GROUP)
    block_m = first + (pid % in_group) % size
    block_n = (pid % in_group) // size
    tl.assume(block_m >= 0)
    rows = (block_m * BM + tl.arange(0, BM)) % M
    columns = (block_n * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(a, mask=inner[None, :] < K - k * BK, other=0.0)
        right = tl.load(b, mask=inner[:, None] < K - k * BK, other=0.0)
        total = tl.dot(left, right, total)
        a += BK * stride_ak
        b += BK * stride_bk
    if ACT == "leaky_relu":
        total = leaky_relu(total)
    rows = block_m * BM + tl.arange(0, BM)
    columns = block_n * BN + tl.arange(0, BN)
    places = c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :]
    tl.store(places, total.to(c_ptr.dtype.element_ty), (rows[:, None] < M) & (columns[None, :] < N))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("activation", ["", "leaky_relu"])
def test_matrix_product(dtype, activation):
    a, b = numbers(150, 70, dtype=dtype), numbers(90, 70, dtype=dtype).T
    c = torch.empty(150, 90, device="cuda", dtype=dtype)

    def grid(meta):
        return (triton.cdiv(150, meta["BM"]) * triton.cdiv(90, meta["BN"]),)

    matmul_kernel[grid](
        a, b, c, 150, 90, 70, *a.stride(), *b.stride(), *c.stride(), ACT=activation
    )  # fmt: skip
    want = a.double() @ b.double()
    if activation:
        want = functional.leaky_relu(want, 0.01)
    error = (c.double() - want).abs().max() / want.abs().max()
    assert error < {torch.float16: 1e-3, torch.bfloat16: 5e-3, torch.float32: 1e-6}[dtype]


@triton.jit
def dropout_kernel(x_ptr, out_ptr, count, p, seed, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    x = tl.load(x_ptr + places, mask=inside)
    kept = tl.rand(seed, places) > p
    tl.store(out_ptr + places, tl.where(kept, x / (1 - p), 0.0), mask=inside)


def test_dropout_draws_the_same_from_a_seed():
    x, outs = torch.ones(2000, device="cuda"), []
    for seed in (123, 123, 512):
        outs.append(torch.empty_like(x))
        dropout_kernel[(2,)](x, outs[-1], 2000, 0.5, seed, BLOCK=1024)
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])
    assert set(outs[0].tolist()) == {0.0, 2.0}
    assert 0.45 < (outs[0] == 0).float().mean() < 0.55


@triton.jit
def philox_kernel(out_ptr, seed, offset):
    a, b, c, d = tl.randint4x(seed, tl.full((1,), offset, tl.int32))
    first = tl.arange(0, 1)
    tl.store(out_ptr + first, a)
    tl.store(out_ptr + 1 + first, b)
    tl.store(out_ptr + 2 + first, c)
    tl.store(out_ptr + 3 + first, d)


def test_philox_is_exact():
    """Random123's known answer for Philox4x32-10 of a counter and a key of zeros."""
    out = torch.zeros(4, device="cuda", dtype=torch.int32)
    philox_kernel[(1,)](out, 0, 0)
    words = [value & 0xFFFFFFFF for value in out.tolist()]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@triton.jit
def uniform_kernel(out_ptr, seed, N: tl.constexpr):
    places = tl.arange(0, N)
    tl.store(out_ptr + places, tl.rand(seed, places))
    tl.store(out_ptr + N + places, tl.randn(seed, places))


def test_uniform_and_normal_numbers():
    out = torch.empty(2, 4096, device="cuda")
    uniform_kernel[(1,)](out, 7, N=4096)
    assert out[0].min() >= 0 and out[0].max() < 1
    assert abs(out[0].mean() - 0.5) < 0.02 and abs(out[1].mean()) < 0.06
    assert abs(out[1].std() - 1) < 0.05


@triton.jit
def norm_forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * N
    y_ptr += row * N
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        places = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + places, mask=places < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        places = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + places, mask=places < N, other=0.0).to(tl.float32)
        x = tl.where(places < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        places = start + tl.arange(0, BLOCK)
        inside = places < N
        x = tl.load(x_ptr + places, mask=inside, other=0.0).to(tl.float32)
        w, b = tl.load(w_ptr + places, mask=inside), tl.load(b_ptr + places, mask=inside)
        tl.store(y_ptr + places, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def norm_backward(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, N,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * N + columns, mask=inside, other=0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=inside).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    wdy = tl.where(inside, w * dy, 0.0)
    c1, c2 = tl.sum(xhat * wdy, axis=0) / N, tl.sum(wdy, axis=0) / N
    tl.store(dx_ptr + row * N + columns, (wdy - (xhat * c1 + c2)) * rstd, mask=inside)
    group = row % GROUPS
    lock_ptr += group
    count_ptr = lock_ptr + GROUPS
    dw_ptr = dw_ptr + group * N + columns
    db_ptr = db_ptr + group * N + columns
    part_w, part_b = (dy * xhat), dy
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        part_w += tl.load(dw_ptr, mask=inside)
        part_b += tl.load(db_ptr, mask=inside)
    tl.store(dw_ptr, part_w, mask=inside)
    tl.store(db_ptr, part_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        rows, columns = x.shape
        y = torch.empty_like(x)
        mean, rstd = (torch.empty(rows, device="cuda") for _ in range(2))
        norm_forward[(rows,)](x, y, w, b, mean, rstd, columns, eps, BLOCK=64)
        ctx.save_for_backward(x, w, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, mean, rstd = ctx.saved_tensors
        rows, columns = x.shape
        groups = 4
        dx = torch.empty_like(x)
        locks = torch.zeros(2 * groups, dtype=torch.int32, device="cuda")
        dw, db = (torch.zeros(groups, columns, device="cuda") for _ in range(2))
        norm_backward[(rows,)](
            dx, dy, dw, db, x, w, mean, rstd, locks, columns, GROUPS=groups,
            BLOCK=triton.next_power_of_2(columns),
        )  # fmt: skip
        return dx, dw.sum(0), db.sum(0), None


def test_layer_norm_with_its_gradients():
    """The backward pass is called by autograd's thread, and its programs wait for locks."""
    x, w, b, dy = numbers(11, 200), numbers(200), numbers(200), numbers(11, 200)
    given = [one.clone().requires_grad_() for one in (x, w, b)]
    want = [one.clone().requires_grad_() for one in (x, w, b)]
    y = LayerNorm.apply(*given, 1e-5)
    z = functional.layer_norm(want[0], (200,), want[1], want[2], 1e-5)
    y.backward(dy)
    z.backward(dy)
    torch.testing.assert_close(y, z)
    for one, other in zip(given, want, strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-4, rtol=1e-4)


@triton.jit
def attention_forward(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, T, CAUSAL: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * T * D
    rows = start * BM + tl.arange(0, BM)
    width = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + width[None, :])
    best = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    out = tl.zeros([BM, D], tl.float32)
    end = (start + 1) * BM if CAUSAL else T
    for at in range(0, end, BN):
        columns = at + tl.arange(0, BN)
        k = tl.load(k_ptr + base + columns[:, None] * D + width[None, :])
        v = tl.load(v_ptr + base + columns[:, None] * D + width[None, :])
        scores = tl.dot(q, tl.trans(k)) * (scale * 1.44269504)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        higher = tl.maximum(best, tl.max(scores, 1))
        p = tl.math.exp2(scores - higher[:, None])
        shrink = tl.math.exp2(best - higher)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(v.dtype), v, out * shrink[:, None])
        best = higher
    tl.store(lse_ptr + head * T + rows, best + tl.math.log2(total))
    tl.store(
        o_ptr + base + rows[:, None] * D + width[None, :],
        (out / total[:, None]).to(o_ptr.type.element_ty),
    )


@triton.jit
def attention_backward(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, scale, T,
    CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * T * D
    columns = block * BN + tl.arange(0, BN)
    width = tl.arange(0, D)
    k = tl.load(k_ptr + base + columns[:, None] * D + width)
    v = tl.load(v_ptr + base + columns[:, None] * D + width)
    dk, dv = tl.zeros([BN, D], tl.float32), tl.zeros([BN, D], tl.float32)
    first = (block * BN) // BM * BM if CAUSAL else 0
    for at in range(first, T, BM):
        rows = at + tl.arange(0, BM)
        places = base + rows[:, None] * D + width
        q, do = tl.load(q_ptr + places), tl.load(do_ptr + places)
        lse, delta = tl.load(lse_ptr + head * T + rows), tl.load(delta_ptr + head * T + rows)
        p = tl.math.exp2(tl.dot(q, k.T) * (scale * 1.44269504) - lse[:, None])
        if CAUSAL:
            p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        dv += tl.dot(p.T.to(do.dtype), do)
        ds = (p * (tl.dot(do, v.T) - delta[:, None]) * scale).to(q.dtype)
        dk += tl.dot(ds.T, q)
        tl.atomic_add(dq_ptr + places, tl.dot(ds, k))
    tl.store(dk_ptr + base + columns[:, None] * D + width, dk)
    tl.store(dv_ptr + base + columns[:, None] * D + width, dv)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_attention_with_its_gradients(causal, dtype):
    heads, length, width = 3, 64, 32
    q, k, v, do = (numbers(heads, length, width, dtype=dtype) for _ in range(4))
    out = torch.empty_like(q)
    lse = torch.empty(heads, length, device="cuda")
    scale = width**-0.5
    attention_forward[(length // 32, heads)](
        q, k, v, out, lse, scale, length, CAUSAL=causal, BM=32, BN=16, D=width
    )
    given = [one.double().requires_grad_() for one in (q, k, v)]
    want = functional.scaled_dot_product_attention(*given, is_causal=causal)
    want.backward(do.double())
    close = {"atol": 2e-5, "rtol": 1e-5} if dtype == torch.float32 else {"atol": 4e-2, "rtol": 1e-2}
    torch.testing.assert_close(out.double(), want, **close)
    grads = [torch.zeros(heads, length, width, device="cuda") for _ in range(3)]
    delta = (out.float() * do.float()).sum(-1)
    attention_backward[(length // 16, heads)](
        q, k, v, do, lse, delta, *grads, scale, length, CAUSAL=causal, BM=32, BN=16, D=width
    )
    for one, other in zip(grads, given, strict=True):
        torch.testing.assert_close(one.double(), other.grad, **close)


@triton.jit
def grouped_kernel(
    a_ptrs, b_ptrs, c_ptrs, sizes_ptr, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    tile, done = tl.program_id(0), 0
    for group in range(groups):
        m = tl.load(sizes_ptr + group * 3)
        n = tl.load(sizes_ptr + group * 3 + 1)
        k = tl.load(sizes_ptr + group * 3 + 2)
        across = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * across
        while tile >= done and tile < done + tiles:
            a = tl.load(a_ptrs + group).to(tl.pointer_type(tl.float16))
            b = tl.load(b_ptrs + group).to(tl.pointer_type(tl.float16))
            c = tl.load(c_ptrs + group).to(tl.pointer_type(tl.float16))
            rows = (tile - done) // across * BM + tl.arange(0, BM)
            columns = (tile - done) % across * BN + tl.arange(0, BN)
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for at in range(0, k, BK):
                inner = at + tl.arange(0, BK)
                left = tl.load(a + rows[:, None] * k + inner[None, :])
                right = tl.load(b + inner[:, None] * n + columns[None, :])
                total = tl.dot(left, right, total)
            tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))
            tile += PROGRAMS
        done = done + tiles


def test_grouped_products_by_tables_of_addresses():
    shapes = [(64, 32, 48), (32, 64, 16), (96, 32, 32)]
    a = [numbers(m, k, dtype=torch.float16) for m, n, k in shapes]
    b = [numbers(k, n, dtype=torch.float16) for m, n, k in shapes]
    c = [torch.empty(m, n, device="cuda", dtype=torch.float16) for m, n, k in shapes]
    tables = [torch.tensor([t.data_ptr() for t in one], device="cuda") for one in (a, b, c)]
    sizes = torch.tensor(shapes, dtype=torch.int32, device="cuda").flatten()
    grouped_kernel[(3,)](*tables, sizes, 3, PROGRAMS=3, BM=32, BN=32, BK=16)
    for left, right, out in zip(a, b, c, strict=True):
        torch.testing.assert_close(out, left @ right, atol=2e-2, rtol=1e-2)


@triton.jit
def asin_kernel(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + places, mask=places < count)
    tl.store(y_ptr + places, libdevice.asin(x), mask=places < count)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_function_of_libdevice(dtype):
    x = torch.rand(300, device="cuda", dtype=dtype)
    y = torch.empty_like(x)
    asin_kernel[(2,)](x, y, 300, BLOCK=256)
    torch.testing.assert_close(y, x.asin())


@triton.jit
def descriptor_kernel(a_ptr, b_desc, c_ptr, M, N: tl.constexpr, B: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, N])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, N])
    row = tl.program_id(0) * B
    c.store([row, 0], a.load([row, 0]) * 2 + b_desc.load([row, 0]))


def test_tensor_descriptors():
    descriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor
    a, b, c = numbers(40, 16), numbers(40, 16), torch.full((48, 16), 7.0, device="cuda")
    described = descriptor.from_tensor(b, [16, 16])
    descriptor_kernel[(3,)](a, described, c[:40], 40, N=16, B=16)
    torch.testing.assert_close(c[:40], a * 2 + b)
    assert (c[40:] == 7).all()  # beyond the shape nothing is stored
