"""Inline assembly of instructions that have a plain meaning, against PyTorch."""

from __future__ import annotations

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language

pytestmark = [
    pytest.mark.devices("cuda:1", profile="h100-80g"),
    pytest.mark.usefixtures("seeded"),
]


@triton.jit
def packed_kernel(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    y = tl.inline_asm_elementwise(
        "and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;",
        "=r,r", [x], dtype=tl.int8, is_pure=True, pack=4,
    )  # fmt: skip
    tl.store(out_ptr + places, y)


def test_four_elements_in_a_register():
    x = torch.randint(-128, 128, (64,), device="cuda", dtype=torch.int8)
    out = torch.empty_like(x)
    packed_kernel[(1,)](x, out, N=64)
    assert torch.equal(out, (x & 31) << 3)


@triton.jit
def unpacked_kernel(x_ptr, out_ptr, N: tl.constexpr):
    """Bytes to bfloat16: what unpacks quantized weights."""
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    y = tl.inline_asm_elementwise(
        """
        {
            .reg .b32 r<4>;  // the bytes as numbers of 32 bits
            .reg .f32 f<4>;
            prmt.b32 r0, $2, 0, 0x4440;
            prmt.b32 r1, $2, 0, 0x4441;
            bfe.u32 r2, $2, 16, 8;
            shr.u32 r3, $2, 24;
            cvt.rn.f32.u32 f0, r0;
            cvt.rn.f32.u32 f1, r1;
            cvt.rn.f32.u32 f2, r2;
            cvt.rn.f32.u32 f3, r3;
            cvt.rn.bf16x2.f32 $0, f1, f0;
            cvt.rn.bf16x2.f32 $1, f3, f2;
        }
        """,
        "=r,=r,r", [x], dtype=tl.bfloat16, is_pure=True, pack=4,
    )  # fmt: skip
    tl.store(out_ptr + places, y)


def test_bytes_become_bfloat16():
    x = torch.arange(256, device="cuda", dtype=torch.uint8)
    out = torch.empty(256, device="cuda", dtype=torch.bfloat16)
    unpacked_kernel[(1,)](x, out, N=256)
    assert torch.equal(out, x.bfloat16())


@triton.jit
def short_kernel(x_ptr, out_ptr, back_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    y = tl.inline_asm_elementwise(
        "cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;",
        "=h,f,f", [x], dtype=tl.float8e4nv, is_pure=True, pack=2,
    )  # fmt: skip
    tl.store(out_ptr + places, y)
    z = tl.inline_asm_elementwise(
        "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", [y], dtype=tl.float16, is_pure=True, pack=2
    )
    tl.store(back_ptr + places, z)


def test_conversions_of_pairs():
    x = torch.randn(64, device="cuda") * 100
    out = torch.empty(64, device="cuda", dtype=torch.float8_e4m3fn)
    back = torch.empty(64, device="cuda", dtype=torch.float16)
    short_kernel[(1,)](x, out, back, N=64)
    want = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    assert torch.equal(out.float(), want.float()) and torch.equal(back, want.half())


@triton.jit
def guarded_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    x, y = tl.load(x_ptr + places), tl.load(y_ptr + places)
    larger, place, product = tl.inline_asm_elementwise(
        """
        .reg .pred p, q;
        setp.gt.f32 p|q, $3, $4;
        selp.f32 $0, $3, $4, p;
        mov.u32 $1, 7;
        @q mov.u32 $1, 9;
        fma.rn.f32 $2, $3, $4, 0f3F800000;
        """,
        "=f,=r,=f,f,f", [x, y], dtype=(tl.float32, tl.int32, tl.float32), is_pure=True, pack=1,
    )  # fmt: skip
    tl.store(out_ptr + places, larger)
    tl.store(out_ptr + N + places, place.to(tl.float32))
    tl.store(out_ptr + 2 * N + places, product)


def test_predicates_and_several_results():
    x, y = torch.randn(32, device="cuda"), torch.randn(32, device="cuda")
    out = torch.empty(3, 32, device="cuda")
    guarded_kernel[(1,)](x, y, out, N=32)
    assert torch.equal(out[0], torch.maximum(x, y))
    assert torch.equal(out[1], torch.where(x > y, 7.0, 9.0))
    assert torch.equal(out[2], (x.double() * y.double() + 1).float())


@triton.jit
def bits_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    a, b = tl.load(a_ptr + places), tl.load(b_ptr + places)
    for i in tl.static_range(6):
        if i == 0:
            asm: tl.constexpr = "lop3.b32 $0, $1, $2, 0xF0F0F0F0, 0xE8;"  # the majority
        elif i == 1:
            asm: tl.constexpr = "shf.r.wrap.b32 $0, $1, $2, 9;"
        elif i == 2:
            asm: tl.constexpr = "bfi.b32 $0, $1, $2, 4, 12;"
        elif i == 3:
            asm: tl.constexpr = "mul.hi.s32 $0, $1, $2;"
        elif i == 4:
            asm: tl.constexpr = "mad.lo.s32 $0, $1, $2, -5;"
        else:
            asm: tl.constexpr = "clz.b32 $0, $1;"
        c = tl.inline_asm_elementwise(asm, "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1)
        tl.store(out_ptr + i * N + places, c)


def test_bits():
    a, b = (torch.randint(-(2**31), 2**31, (64,), dtype=torch.int32) for _ in range(2))
    out = torch.empty(6, 64, device="cuda", dtype=torch.int32)
    bits_kernel[(1,)](a.cuda(), b.cuda(), out, N=64)
    got = [[value & 0xFFFFFFFF for value in row] for row in out.tolist()]
    for i, (signed_a, signed_b) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        x, y, c = signed_a & 0xFFFFFFFF, signed_b & 0xFFFFFFFF, 0xF0F0F0F0
        want = [
            (x & y) | (x & c) | (y & c),
            ((y << 32 | x) >> 9) & 0xFFFFFFFF,
            (y & ~0xFFF0) | (x & 0xFFF) << 4,
            ((signed_a * signed_b) >> 32) & 0xFFFFFFFF,
            (signed_a * signed_b - 5) & 0xFFFFFFFF,
            32 - x.bit_length(),
        ]
        assert [row[i] for row in got] == want


@triton.jit
def memory_kernel(x_ptr, y_ptr, N: tl.constexpr):
    places = tl.arange(0, N)
    tl.inline_asm_elementwise(
        "ld.global.b8 $0, [$1]; shl.b32 $0, $0, 3; st.global.b8 [$2], $0;",
        "=r,l,l", [x_ptr + places, y_ptr + places], dtype=tl.int8, is_pure=False, pack=1,
    )  # fmt: skip


def test_loads_and_stores():
    x = torch.randint(0, 256, (64,), device="cuda", dtype=torch.uint8)
    y = torch.zeros_like(x)
    memory_kernel[(1,)](x, y, N=64)
    assert torch.equal(y, x << 3)
