"""Products of float8 and float4 with factors, and of groups, compared with plain ones in float64.

Argument: the recipes to compare, of those in RECIPES.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FLOAT4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
M, K, N = 192, 640, 160
V2 = hasattr(torch.ops.aten, "_scaled_mm_v2")


def eighths(rows: int, columns: int, dtype: torch.dtype = E4M3) -> torch.Tensor:
    return torch.randn(rows, columns, device="cuda").to(dtype)


def fourths(rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs of float4, the first in the lower half of a byte, and their values."""
    bits = torch.randint(0, 16, (rows, columns), device="cuda", dtype=torch.uint8)
    table = torch.tensor(FLOAT4 + [-value for value in FLOAT4], device="cuda").double()
    packed = bits[:, ::2] + bits[:, 1::2] * 16
    return packed.view(torch.float4_e2m1fn_x2), table[bits.long()]


def in_tiles(factors: torch.Tensor) -> torch.Tensor:
    """The layout of cuBLAS's documentation, element by element's offset."""
    rows, columns = factors.shape
    high, wide = -(-rows // 128), -(-columns // 4)
    r = torch.arange(rows, device="cuda")[:, None]
    c = torch.arange(columns, device="cuda")[None, :]
    tile = (r // 128) * wide + c // 4
    offset = tile * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4
    flat = torch.zeros(high * wide * 512, dtype=torch.uint8, device="cuda")
    flat[offset.flatten()] = factors.contiguous().view(torch.uint8).flatten()
    return flat.view(factors.dtype)


def powers(rows: int, columns: int) -> torch.Tensor:
    exponents = torch.randint(124, 131, (rows, columns), device="cuda", dtype=torch.uint8)
    return exponents.view(torch.float8_e8m0fnu)


def wide(factors: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Each factor for its block of a matrix of this shape."""
    down, along = -(-rows // factors.shape[0]), -(-columns // factors.shape[1])
    each = factors.double().repeat_interleave(down, 0).repeat_interleave(along, 1)
    return each[:rows, :columns]


def same(found: torch.Tensor, wanted: torch.Tensor) -> None:
    # A sum in float32 of some hundred products, and one rounding.
    bits = {torch.float32: 17, torch.float16: 10, torch.bfloat16: 7, E4M3: 3, E5M2: 2}[found.dtype]
    assert found.shape == wanted.shape
    if wanted.numel() == 0:
        return
    finest = {E4M3: 2.0**-10, E5M2: 2.0**-17}.get(found.dtype, 0.0)
    error = (found.double() - wanted).abs()
    allowed = wanted.abs() * 2.0**-bits + wanted.abs().max() * 2.0**-18 + finest
    assert bool((error <= allowed).all()), (found.dtype, float((error - allowed).max()))


def tensor() -> None:
    one, half = torch.tensor(1.5, device="cuda"), torch.tensor([[0.25]], device="cuda")
    for types in ((E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3)):
        a, b = eighths(M, K, types[0]), eighths(N, K, types[1]).t()
        wanted = a.double() @ b.double() * 0.375
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            same(torch._scaled_mm(a, b, one, half, out_dtype=dtype), wanted)
            bias = torch.randn(N, device="cuda").to(dtype)
            if dtype != torch.float32:
                found = torch._scaled_mm(
                    a, b, one, half, bias=bias, out_dtype=dtype, use_fast_accum=True
                )
                same(found, wanted + bias.double())
            if V2:
                found = F.scaled_mm(
                    a,
                    b,
                    one,
                    F.ScalingType.TensorWise,
                    half,
                    F.ScalingType.TensorWise,
                    output_dtype=dtype,
                )
                same(found, wanted)
        bias = torch.randn(N, device="cuda").bfloat16()
        scale = torch.tensor(0.5, device="cuda")
        found = torch._scaled_mm(a, b, one, half, bias=bias, scale_result=scale, out_dtype=types[0])
        if types[0] == E4M3:
            same(found, (wanted + bias.double()) * 0.5)
        out = torch.empty(0, dtype=torch.bfloat16, device="cuda")
        assert torch._scaled_mm(a, b, one, half, out_dtype=torch.bfloat16, out=out) is out
        same(out, wanted)


def row() -> None:
    a, b = eighths(M, K), eighths(N, K).t()
    of_a, of_b = torch.rand(M, 1, device="cuda"), torch.rand(1, N, device="cuda")
    bias = torch.randn(N, device="cuda").bfloat16()
    wanted = (a.double() * of_a) @ (b.double() * of_b)
    found = torch._scaled_mm(a, b, of_a, of_b, bias=bias, out_dtype=torch.bfloat16)
    same(found, wanted + bias.double())
    if V2:
        kind = F.ScalingType.RowWise
        found = F.scaled_mm(a, b, of_a, kind, of_b, kind, output_dtype=torch.bfloat16)
        same(found, wanted)


def blocks() -> None:
    """1x128 and 128x128 in both forms, whose factors of 128 rows differ in layout."""
    a, b = eighths(M, K), eighths(N, K).t()
    count = K // 128
    row_a, row_b = torch.rand(count, M, device="cuda").t(), torch.rand(count, N, device="cuda").t()
    high_a, high_b = -(-M // 128), -(-N // 128)
    square_a = torch.rand(high_a, count, device="cuda")
    square_b = torch.rand(high_b, count, device="cuda")

    def of_128(square: torch.Tensor, rows: int) -> torch.Tensor:
        return square.double().repeat_interleave(128, 0)[:rows].repeat_interleave(128, 1)

    pairs = (
        (row_a, row_b, wide(row_a, M, K), wide(row_b, N, K)),
        (row_a, square_b, wide(row_a, M, K), of_128(square_b, N)),
        (square_a, row_b, of_128(square_a, M), wide(row_b, N, K)),
    )
    for of_a, of_b, whole_a, whole_b in pairs:
        wanted = (a.double() * whole_a) @ (b.double() * whole_b.t())
        same(torch._scaled_mm(a, b, of_a, of_b.t(), out_dtype=torch.float32), wanted)
        if not V2:
            continue
        kinds, scales = [], []
        for factors in (of_a, of_b):
            square = factors is square_a or factors is square_b
            kinds.append(getattr(F.ScalingType, "BlockWise128x128" if square else "BlockWise1x128"))
            scales.append(F.pad(factors, (0, -count % 4)).t() if square else factors)
        found = F.scaled_mm(
            a, b, scales[0], kinds[0], scales[1], kinds[1], output_dtype=torch.bfloat16
        )
        same(found, wanted)


def mx8() -> None:
    for rows, k in ((M, K), (130, 160)):
        a, b = eighths(rows, k), eighths(N, k).t()
        of_a, of_b = powers(rows, k // 32), powers(N, k // 32)
        wanted = (a.double() * wide(of_a.float(), rows, k)) @ (
            b.double() * wide(of_b.float(), N, k).t()
        )
        tiles = in_tiles(of_a), in_tiles(of_b)
        same(torch._scaled_mm(a, b, *tiles, out_dtype=torch.bfloat16), wanted)
        if V2:
            same(second(a, b, *tiles, "BlockWise1x32"), wanted)


def second(a: torch.Tensor, b: torch.Tensor, of_a, of_b, *kinds: str) -> torch.Tensor:
    recipe = [getattr(F.ScalingType, kind) for kind in kinds]
    swizzle = [F.SwizzleType.SWIZZLE_32_4_4] + [F.SwizzleType.NO_SWIZZLE] * (len(kinds) - 1)
    return F.scaled_mm(
        a, b, of_a, recipe, of_b, recipe, swizzle, swizzle, output_dtype=torch.bfloat16
    )


def fours() -> None:
    (a, of_values), (b, of_columns) = fourths(M, K), fourths(N, K)
    of_a = torch.rand(M, K // 16, device="cuda").to(E4M3)
    of_b = torch.rand(N, K // 16, device="cuda").to(E4M3)
    wanted = (of_values * wide(of_a.float(), M, K)) @ (of_columns * wide(of_b.float(), N, K)).t()
    tiles = in_tiles(of_a), in_tiles(of_b)
    same(torch._scaled_mm(a, b.t(), *tiles, out_dtype=torch.bfloat16), wanted)
    if not V2:
        return
    same(second(a, b.t(), *tiles, "BlockWise1x16"), wanted)
    whole = torch.tensor(0.75, device="cuda"), torch.tensor(3.0, device="cuda")
    found = second(
        a, b.t(), [tiles[0], whole[0]], [tiles[1], whole[1]], "BlockWise1x16", "TensorWise"
    )
    same(found, wanted * 2.25)
    mx_a, mx_b = powers(M, K // 32), powers(N, K // 32)
    wanted = (of_values * wide(mx_a.float(), M, K)) @ (of_columns * wide(mx_b.float(), N, K)).t()
    same(second(a, b.t(), in_tiles(mx_a), in_tiles(mx_b), "BlockWise1x32"), wanted)


def ends_of(*ends: int) -> torch.Tensor:
    return torch.tensor(ends, device="cuda", dtype=torch.int32)


def groups() -> None:
    """The four forms; a group without rows; rows after the last group."""
    ends = ends_of(32, 32, 96, 160)
    starts = [0, 32, 32, 96]
    lasts = ends.tolist()
    for dtype in (torch.bfloat16, torch.float16):
        flat_a = torch.randn(M, 64, device="cuda").to(dtype)
        each_b = torch.randn(4, 48, 64, device="cuda").to(dtype).transpose(-2, -1)
        found = torch._grouped_mm(flat_a, each_b, offs=ends)
        assert found.shape == (M, 48)
        for i, (start, last) in enumerate(zip(starts, lasts, strict=True)):
            same(found[start:last], flat_a[start:last].double() @ each_b[i].double())
        each_a = torch.randn(4, 40, 64, device="cuda").to(dtype)
        flat_b = torch.randn(160, 64, device="cuda").to(dtype).t()
        found = torch._grouped_mm(each_a, flat_b, offs=ends)
        assert found.shape == (40, 160)
        for i, (start, last) in enumerate(zip(starts, lasts, strict=True)):
            same(found[:, start:last], each_a[i].double() @ flat_b[:, start:last].double())
        # Sums over groups may be empty in this layout, that of gradients of weights.
        flat_a = torch.randn(160, 40, device="cuda").to(dtype).t()
        flat_b = torch.randn(160, 24, device="cuda").to(dtype)
        found = torch._grouped_mm(flat_a, flat_b, offs=ends)
        assert found.shape == (4, 40, 24)
        for i, (start, last) in enumerate(zip(starts, lasts, strict=True)):
            wanted = flat_a[:, start:last].double() @ flat_b[start:last].double()
            same(found[i], wanted)
        found = torch._grouped_mm(each_a, each_b)
        same(found, each_a.double() @ each_b.double())
    # Rows of the result start at multiples of 16 bytes.
    narrow = torch.randn(2, 16, 8, device="cuda").bfloat16()
    found = torch._grouped_mm(
        narrow, torch.randn(2, 10, 8, device="cuda").bfloat16().transpose(1, 2)
    )
    assert found.shape == (2, 16, 10) and found.stride() == (256, 16, 1)
    x = torch.randn(96, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    w = torch.randn(2, 64, 32, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    found = torch._grouped_mm(x, w, offs=ends_of(32, 96))
    found.backward(torch.ones_like(found))
    same(x.grad[:32], w[0].detach().double().sum(1).expand(32, 64))
    same(w.grad[1], x[32:].detach().double().sum(0)[:, None].expand(64, 32))


def scaled_groups() -> None:
    ends = ends_of(32, 96, 160)
    bounds = [(0, 32), (32, 96), (96, 160)]
    flat_a, each_b = eighths(160, 64), eighths(3 * 48, 64).view(3, 48, 64).transpose(-2, -1)
    of_a, of_b = torch.rand(160, device="cuda"), torch.rand(3, 48, device="cuda")
    calls: list[Callable[..., torch.Tensor]] = [
        lambda a, b, of_a, of_b, offs=None: torch._scaled_grouped_mm(
            a, b, of_a, of_b, offs=offs, out_dtype=torch.bfloat16, use_fast_accum=True
        )
    ]
    if V2:
        kind = F.ScalingType.RowWise
        calls.append(
            lambda a, b, of_a, of_b, offs=None: F.scaled_grouped_mm(
                a, b, of_a, kind, of_b, kind, offs=offs
            )
        )
    for call in calls:
        found = call(flat_a, each_b, of_a, of_b, ends)
        for i, (start, last) in enumerate(bounds):
            wanted = flat_a[start:last].double() @ each_b[i].double()
            same(found[start:last], wanted * of_a[start:last, None] * of_b[i])
        across_a, across_b = eighths(32, 160), eighths(16, 160).t()
        row_a, row_b = torch.rand(3 * 32, device="cuda"), torch.rand(3 * 16, device="cuda")
        found = call(across_a, across_b, row_a, row_b, ends)
        for i, (start, last) in enumerate(bounds):
            wanted = across_a[:, start:last].double() @ across_b[start:last].double()
            factors = row_a[i * 32 : i * 32 + 32, None] * row_b[i * 16 : i * 16 + 16]
            same(found[i], wanted * factors)
        each_a, whole_a = eighths(3 * 32, 64).view(3, 32, 64), torch.rand(3, 32, device="cuda")
        found = call(each_a, each_b, whole_a, of_b)
        wanted = each_a.double() @ each_b.double()
        same(found, wanted * whole_a[..., None] * of_b[:, None])
        flat_b, columns = eighths(160, 64).t(), torch.rand(160, device="cuda")
        found = call(each_a, flat_b, whole_a, columns, ends)
        for i, (start, last) in enumerate(bounds):
            wanted = each_a[i].double() @ flat_b[:, start:last].double()
            same(found[:, start:last], wanted * whole_a[i, :, None] * columns[start:last])


def tiled_groups() -> None:
    """MXFP8, MXFP4 and NVFP4: each group has whole tiles."""
    ends, bounds, k, n = ends_of(32, 192), [(0, 32), (32, 192)], 128, 48
    kinds: list[tuple[str, int]] = [("mx8", 32)]
    if V2:
        kinds += [("mx4", 32), ("nv4", 16)]
    for kind, block in kinds:

        def values(rows: int, columns: int, kind: str = kind) -> tuple[torch.Tensor, torch.Tensor]:
            if kind != "mx8":
                return fourths(rows, columns)
            small = eighths(rows, columns)
            return small, small.double()

        def factors(rows: int, columns: int, kind: str = kind) -> torch.Tensor:
            if kind == "nv4":
                return torch.rand(rows, columns, device="cuda").to(E4M3)
            return powers(rows, columns)

        def call(a, b, of_a, of_b, kind: str = kind) -> torch.Tensor:
            if not V2:
                return torch._scaled_grouped_mm(
                    a, b, of_a, of_b, offs=ends, out_dtype=torch.bfloat16
                )
            recipe = F.ScalingType.BlockWise1x32
            swizzle = F.SwizzleType.SWIZZLE_32_4_4
            if kind == "nv4":
                recipe = [F.ScalingType.BlockWise1x16, F.ScalingType.TensorWise]
                swizzle = [swizzle, F.SwizzleType.NO_SWIZZLE]
                of_a, of_b = [of_a, torch.tensor([2.0, 4.0]).cuda()], [of_b, torch.ones(2).cuda()]
            return F.scaled_grouped_mm(
                a, b, of_a, recipe, of_b, recipe, swizzle, swizzle, offs=ends
            )

        last = [2.0, 4.0] if kind == "nv4" else [1.0, 1.0]
        a, value_a = values(192, k)
        b, value_b = values(2 * n, k)
        of_a = [factors(end - start, k // block) for start, end in bounds]
        of_b = [factors(n, k // block) for _ in bounds]
        tiles_a = torch.cat([in_tiles(each).view(torch.uint8) for each in of_a])
        tiles_a = tiles_a.view(-1, k // block).view(of_a[0].dtype)
        tiles_b = torch.stack([in_tiles(each).view(torch.uint8) for each in of_b])
        tiles_b = tiles_b.view(of_b[0].dtype)
        each_b = b.view(2, n, -1).transpose(-2, -1)
        found = call(a, each_b, tiles_a, tiles_b)
        for i, (start, end) in enumerate(bounds):
            left = value_a[start:end] * wide(of_a[i].float(), end - start, k)
            right = value_b[i * n : i * n + n] * wide(of_b[i].float(), n, k)
            same(found[start:end], left @ right.t() * last[i])
        a, value_a = values(64, 192)
        b, value_b = values(n, 192)
        of_a = [factors(64, (end - start) // block) for start, end in bounds]
        of_b = [factors(n, (end - start) // block) for start, end in bounds]
        tiles = []
        for each in (of_a, of_b):
            flat = torch.cat([in_tiles(one).view(torch.uint8) for one in each])
            tiles.append(flat.view(128, -1).view(each[0].dtype))
        found = call(a, b.t(), *tiles)
        for i, (start, end) in enumerate(bounds):
            left = value_a[:, start:end] * wide(of_a[i].float(), 64, end - start)
            right = value_b[:, start:end] * wide(of_b[i].float(), n, end - start)
            same(found[i], left @ right.t() * last[i])


RECIPES = {
    each.__name__: each
    for each in (tensor, row, blocks, mx8, fours, groups, scaled_groups, tiled_groups)
}

torch.manual_seed(0)
for name in sys.argv[1:]:
    RECIPES[name]()
    print("compared", name)
