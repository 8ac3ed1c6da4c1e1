"""What Triton's language does on a device and Triton's own interpreter does not."""

from __future__ import annotations

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language
from triton.language import load, maximum  # noqa: E402  # a kernel may use names that it imported
from triton.language.extra import libdevice  # noqa: E402

pytestmark = [
    pytest.mark.devices("cuda:1", profile="h100-80g"),
    pytest.mark.usefixtures("seeded"),
]

WIDTH = tl.constexpr(16)
FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]


@triton.jit
def arithmetic_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x, y = tl.load(x_ptr + places), tl.load(y_ptr + places)
    tl.store(out_ptr + places, x * y)
    tl.store(out_ptr + N + places, x + y)
    tl.store(out_ptr + 2 * N + places, tl.where(x > y, x, y))
    tl.store(out_ptr + 3 * N + places, maximum(x, y))
    tl.store(out_ptr + 4 * N + places, tl.abs(x))


def test_bfloat16_is_computed_and_rounded():
    x, y = (torch.randn(256, device="cuda").bfloat16() for _ in range(2))
    out = torch.empty(5, 256, device="cuda", dtype=torch.bfloat16)
    arithmetic_kernel[(1,)](x, y, out, N=256)
    want = torch.stack([x * y, x + y, torch.where(x > y, x, y), torch.maximum(x, y), x.abs()])
    assert torch.equal(out, want)


@triton.jit
def cast_kernel(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    tl.store(out_ptr + places, tl.load(x_ptr + places).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, *FLOAT8])
def test_numbers_are_rounded_to_the_nearest(dtype):
    """Ties included: the middles between two neighbours, and what is just beside them."""
    bits = torch.arange(0x3000, 0x4C00, 8, dtype=torch.int32) << 16
    x = torch.cat([bits + d for d in (0, 0x8000, 0x7FFF, 0x8001, 0xFFFF)]).view(torch.float32)
    x = x[x.abs() < 400]
    x = torch.cat([x, -x])[:4096].cuda()
    x = torch.cat([x, torch.zeros(4096 - len(x), device="cuda")])
    out = torch.empty(4096, device="cuda", dtype=dtype)
    cast_kernel[(1,)](x, out, N=4096)
    assert torch.equal(out.cpu().float(), x.cpu().to(dtype).float())


@pytest.mark.parametrize("dtype", FLOAT8)
def test_all_numbers_of_8_bits(dtype):
    codes = torch.arange(256, dtype=torch.uint8, device="cuda")
    out = torch.empty(256, device="cuda")
    cast_kernel[(1,)](codes.view(dtype), out, N=256)
    assert torch.equal(out.nan_to_num(9999.0), codes.view(dtype).float().nan_to_num(9999.0))
    large = torch.tensor([1e9, -1e9, float("inf"), 500.0], device="cuda")
    short = torch.empty(4, device="cuda", dtype=dtype)
    cast_kernel[(1,)](large, short, N=4)
    most = torch.finfo(dtype).max
    assert short.float().tolist()[:3] == [most, -most, most]


def test_integers_saturate():
    x = torch.tensor([1e20, -1e20, float("nan"), -2.7], device="cuda")
    for dtype in (torch.int32, torch.int64):
        out = torch.empty(4, device="cuda", dtype=dtype)
        cast_kernel[(1,)](x, out, N=4)
        limits = torch.iinfo(dtype)
        assert out.tolist() == [limits.max, limits.min, 0, -2]


@triton.jit
def loop_kernel(out_ptr, count, scale, N: tl.constexpr):
    """The variable of a loop, a number argument and a float are tensors."""
    for i in range(count):
        at = i.to(tl.int64) * N + tl.arange(0, N)
        tl.store(out_ptr + at, (at + WIDTH * i).to(tl.float32) * scale.to(tl.float32))


def test_numbers_are_tensors():
    out = torch.zeros(3, 8, device="cuda")
    loop_kernel[(1,)](out, 3, 0.5, N=8)
    want = (torch.arange(24).view(3, 8) + 16 * torch.arange(3)[:, None]) * 0.5
    assert torch.equal(out.cpu(), want)


def test_variables_of_the_function_around_a_kernel():
    shift = tl.constexpr(5)
    act = twice

    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        places = tl.arange(0, N)
        tl.store(out_ptr + places, act(load(out_ptr + places)) + shift)

    out = torch.arange(8, device="cuda")
    kernel[(1,)](out, N=8)
    assert out.tolist() == [2 * i + 5 for i in range(8)]


@triton.jit
def twice(x, by: tl.constexpr = 2):
    return x * by


@triton.jit
def logic_kernel(x_ptr, out_ptr, limit, N: tl.constexpr, FLAG: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, ((x > 2) and (x < limit)).to(tl.int32))
    tl.store(out_ptr + N + places, (x < 2 or x == limit).to(tl.int32))
    tl.store(out_ptr + 2 * N + places, (not (x == 3)).to(tl.int32))  # noqa: SIM201
    tl.store(out_ptr + 3 * N + places, min(x, limit, 4))
    if FLAG is not None and limit > 4:
        tl.store(out_ptr + 4 * N + places, max(x, 3))


def test_words_of_python_on_tensors():
    x = torch.arange(8, device="cuda", dtype=torch.int32)
    out = torch.zeros(5, 8, device="cuda", dtype=torch.int32)
    logic_kernel[(1,)](x, out, 6, N=8, FLAG=1)
    want = [(x > 2) & (x < 6), (x < 2) | (x == 6), x != 3, x.clamp(max=4), x.clamp(min=3)]
    assert torch.equal(out, torch.stack([one.int() for one in want]))


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    c = tl.dot(tl.load(a_ptr + places), tl.load(b_ptr + places), out_dtype=c_ptr.dtype.element_ty)
    tl.store(c_ptr + places, c)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8, *FLOAT8])
def test_products_of_short_numbers(dtype):
    a, b = ((torch.randn(32, 32, device="cuda") * 4).to(dtype) for _ in range(2))
    out = torch.int32 if dtype == torch.int8 else torch.float32
    c = torch.empty(32, 32, device="cuda", dtype=out)
    product_kernel[(1,)](a, b, c, N=32)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), atol=1e-3, rtol=1e-5)


@triton.jit
def atomic_kernel(out_ptr, x_ptr, N: tl.constexpr, B: tl.constexpr):
    places = tl.arange(0, N)
    tl.atomic_add(out_ptr + places % B, tl.load(x_ptr + places), mask=places != 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int32])
def test_atomic_sums_of_the_same_place(dtype):
    x = torch.arange(32, device="cuda").to(dtype)
    out = torch.zeros(4, device="cuda", dtype=dtype)
    atomic_kernel[(1,)](out, x, N=32, B=4)
    assert out.tolist() == [112, 119, 128, 136]


@triton.jit
def functions_kernel(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, libdevice.tanh(x))
    tl.store(out_ptr + N + places, libdevice.erf(x))
    tl.store(out_ptr + 2 * N + places, libdevice.pow(x, x))
    tl.store(out_ptr + 3 * N + places, libdevice.lgamma(x))
    tl.store(out_ptr + 4 * N + places, libdevice.rsqrt(x))
    tl.store(out_ptr + 5 * N + places, libdevice.round(x * 10))
    tl.store(out_ptr + 6 * N + places, libdevice.j0(x))
    tl.store(out_ptr + 7 * N + places, libdevice.popc(x.to(tl.int32, bitcast=True)).to(tl.float32))
    tl.store(out_ptr + 8 * N + places, libdevice.float2int_rd(x * 10).to(tl.float32))
    tl.store(out_ptr + 9 * N + places, tl.extra.cuda.libdevice.fast_expf(x))


def test_functions_of_libdevice():
    x = torch.rand(64, device="cuda") + 0.5
    out = torch.empty(10, 64, device="cuda")
    functions_kernel[(1,)](x, out, N=64)
    ones = torch.tensor([bin(v & 0xFFFFFFFF).count("1") for v in x.view(torch.int32).tolist()])
    want = [
        x.tanh(), x.erf(), x**x, x.lgamma(), x.rsqrt(), (x * 10 + 0.5).floor(),
        torch.special.bessel_j0(x), ones.float().cuda(), (x * 10).floor(), x.exp(),
    ]  # fmt: skip
    torch.testing.assert_close(out, torch.stack(want))


@triton.jit
def assembly_kernel(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    y = tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out_ptr + places, y)
    tl.store(out_ptr + N, tl.extra.cuda.smid().to(tl.float32))
    tl.store(out_ptr + N + 1, tl.extra.cuda.num_threads())
    started = tl.extra.cuda.globaltimer()
    tl.store(out_ptr + N + 2, (tl.extra.cuda.globaltimer() >= started).to(tl.float32))


def test_one_instruction_of_assembly():
    x, out = torch.randn(32, device="cuda"), torch.empty(35, device="cuda")
    assembly_kernel[(1,)](x, out, N=32, num_warps=8)
    torch.testing.assert_close(out[:32], x.tanh())
    assert out[32:].tolist() == [0, 256, 1]


@triton.jit
def print_kernel(x_ptr, N: tl.constexpr):
    tl.device_print("x: ", tl.load(x_ptr + tl.arange(0, N)))


def test_kernels_print(capsys):
    print_kernel[(2,)](torch.arange(2, device="cuda", dtype=torch.int32), N=2)
    assert capsys.readouterr().out.splitlines() == [
        "pid (0, 0, 0) idx (0) x: 0", "pid (0, 0, 0) idx (1) x: 1",
        "pid (1, 0, 0) idx (0) x: 0", "pid (1, 0, 0) idx (1) x: 1",
    ]  # fmt: skip


@triton.jit
def selu(x, alpha):
    if x > 0:
        return x
    else:
        return alpha * (tl.exp(x) - 1)


@triton.jit
def map_kernel(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, tl.map_elementwise(selu, x, tl.full([N], 2.0, tl.float32)))


@pytest.mark.skipif(not hasattr(tl, "map_elementwise"), reason="Triton has it since 3.5")
def test_a_function_of_elements():
    x, out = torch.randn(16, device="cuda"), torch.empty(16, device="cuda")
    map_kernel[(1,)](x, out, N=16)
    torch.testing.assert_close(out, torch.where(x > 0, x, 2 * (x.exp() - 1)))


@triton.jit
def tuple_kernel(ptrs, sizes, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    total = tl.load(ptrs[0] + places) * sizes[0] + tl.load(ptrs[1] + places) * sizes[1]
    tl.store(out_ptr + places, total)


def test_tuples_of_arguments():
    x, y = torch.randn(8, device="cuda"), torch.randn(8, device="cuda")
    out = torch.empty(8, device="cuda")
    tuple_kernel[(1,)]((x, y), (2, 3), out, N=8)
    torch.testing.assert_close(out, 2 * x + 3 * y)


@triton.jit
def order_kernel(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width, height = tl.num_programs(0), tl.num_programs(1)
    tl.store(out_ptr + x + width * (y + height * z), x + 10 * y + 100 * z)


def test_grids_of_three_axes():
    out = torch.full((2, 3, 4), -1, device="cuda")
    order_kernel[(4, 3, 2)](out)
    z, y, x = torch.meshgrid(*(torch.arange(n) for n in (2, 3, 4)), indexing="ij")
    assert torch.equal(out.cpu(), x + 10 * y + 100 * z)
