"""Products of float8 and float4 with factors, and of groups of matrices: as CUDA computes them, and
what it refuses. The words are those of an H100 with torch 2.11 (tests/fidelity), and of ATen's
ScaledBlas.cpp and GroupedBlas.cpp."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

PROGRAM = Path("scaled_products.py")
SECOND = hasattr(torch.ops.aten, "_scaled_mm_v2")
needs_second = pytest.mark.skipif(not SECOND, reason="torch 2.10 has the second form first")


@pytest.mark.parametrize(
    ("profile", "recipes"),
    [
        ("h100-80g", ["tensor", "row", "blocks", "groups", "scaled_groups"]),
        ("b200", ["tensor", "row", "mx8", "fours", "groups", "scaled_groups", "tiled_groups"]),
        ("l4", ["tensor", "row", "groups"]),
    ],
)
def test_results_are_those_of_float64_rounded_once(
    run_virtual, profile: str, recipes: list[str]
) -> None:
    done = run_virtual(PROGRAM, devices=f"cuda:1,memory=4GiB,profile={profile}", args=recipes)
    assert done.stdout.split() == [word for each in recipes for word in ("compared", each)]


START = """
import torch
import torch.nn.functional as F

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
BF16 = torch.bfloat16
kind, swizzled = getattr(F, "ScalingType", None), getattr(F, "SwizzleType", None)

def ones(*sizes, dtype=torch.float32):
    return torch.ones(sizes, device="cuda").to(dtype)

a, b = ones(32, 256, dtype=E4M3), ones(64, 256, dtype=E4M3).t()
one = ones()
tiles = torch.full((128 * 8,), 127, dtype=torch.uint8, device="cuda").view(torch.float8_e8m0fnu)
row_a, row_b = ones(2, 32).t(), ones(2, 64)

def said(call):
    try:
        result = call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"{result.dtype} {tuple(result.shape)}"

def mm(a=a, b=b, of_a=one, of_b=one, **others):
    return said(lambda: torch._scaled_mm(a, b, of_a, of_b, **{"out_dtype": BF16, **others}))

def second(recipe_a, recipe_b, a=a, b=b, of_a=one, of_b=one, **others):
    given = {"output_dtype": BF16, **others}
    return said(lambda: F.scaled_mm(a, b, of_a, recipe_a, of_b, recipe_b, **given))
"""


def run(run_virtual, program: str, profile: str = "h100-80g") -> None:
    run_virtual(START + program, devices=f"cuda:1,memory=4GiB,profile={profile}")


def test_what_an_h100_refuses(run_virtual) -> None:
    run(
        run_virtual,
        """
def starts(found, text):
    assert found.startswith(text), found

starts(mm(b=b.contiguous()), "RuntimeError: Only multiplication of row-major and column-major "
       "matrices is supported by cuBLASLt")
starts(mm(a.to(E5M2), b.to(E5M2)), "ValueError: Multiplication of two Float8_e5m2 matrices is not "
       "supported")
starts(mm(a[0]), "RuntimeError: mat1 must be a matrix")
starts(mm(a[:, :128]), "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x128 and 256x64)")
starts(mm(a[:, :250], b[:250]), "RuntimeError: Expected trailing dimension of mat1 to be divisible "
       "by 16 but got mat1 shape: (32x250).")
starts(mm(b=b[:, :60]), "RuntimeError: mat2 shape (256x60) must be divisible by 16")
starts(mm(bias=ones(64, dtype=BF16), out_dtype=torch.float32),
       "RuntimeError: Bias is not supported when out_dtype is set to Float32")
starts(mm(bias=ones(64)), "RuntimeError: Bias must be BFloat16 or Half, but got Float")
starts(mm(bias=ones(64, dtype=torch.half)),
       "RuntimeError: Bias must be BFloat16 to compute BFloat16 output, but got Half")
starts(mm(bias=ones(64, dtype=BF16), out_dtype=torch.half),
       "RuntimeError: Bias must be Float16 to compute Half output, but got BFloat16")
starts(mm(bias=ones(32, dtype=BF16)), "RuntimeError: Bias must be size 64 but got 32")
starts(mm(scale_result=ones(2)), "RuntimeError: scale_result must be a float scalar")
starts(mm(of_a=row_a, of_b=row_b, use_fast_accum=True),
       "RuntimeError: scaled_gemm doesn't support fast accum with 1x128 blockwise scaling")
unsupported = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul"
starts(mm(out_dtype=E5M2), unsupported)
starts(mm(out_dtype=torch.float64), unsupported)
starts(mm(of_a=tiles, of_b=tiles), unsupported)
starts(mm(ones(32, 24 + 16, dtype=E4M3)[:, :32][:, ::1], b[:32]), unsupported)
wrong = mm(of_a=ones(32, 2), of_b=one)
starts(wrong, "RuntimeError: Invalid scaling configuration.\\n- For TensorWise scaling, a and b ")
assert "scale_a should be (32, 1) and scale_b should be (1, 64), and both" in wrong
assert wrong.endswith("Got a.dtype()=Float8_e4m3fn, scale_a.dtype()=Float, scale_a.size()=[32, 2], "
                      "scale_a.stride()=[2, 1], b.dtype()=Float8_e4m3fn, scale_b.dtype()=Float, "
                      "scale_b.size()=[] and scale_b.stride()=[]"), wrong
starts(mm(a.double()), "RuntimeError: Invalid scaling configuration.")
""",
    )


def test_empty_products_are_zeros(run_virtual) -> None:
    run(
        run_virtual,
        """
for m, k, n in ((0, 16, 32), (32, 0, 16), (32, 16, 0)):
    x, y = ones(m, k, dtype=E4M3), ones(n, k, dtype=E4M3).t()
    infinite = torch.tensor(float("-inf"), device="cuda")
    torch.full((4096,), float("nan"), device="cuda")
    found = torch._scaled_mm(x, y, infinite, infinite, out_dtype=BF16)
    assert found.shape == (m, n) and (found == 0).all()
    if kind:
        found = F.scaled_mm(x, y, infinite, kind.TensorWise, infinite, kind.TensorWise,
                            output_dtype=BF16)
        assert found.shape == (m, n) and (found == 0).all()
""",
    )


@needs_second
def test_what_the_second_form_refuses(run_virtual) -> None:
    run(
        run_virtual,
        """
tensor, row = kind.TensorWise, kind.RowWise
long, square, mx = kind.BlockWise1x128, kind.BlockWise128x128, kind.BlockWise1x32
for found, text in (
    (second(tensor, tensor, of_a=ones(2)), "ValueError: scale_a must have 1 Float element"),
    (second(tensor, tensor, a.double()),
     "ValueError: Expected mat_a to be Float8 or Float4_x2 matrix got Double"),
    (second(tensor, tensor, b=b.double()),
     "ValueError: Expected mat_b to be Float8 or Float4_x2 matrix got Double"),
    (second(tensor, tensor, a[0]), "ValueError: mat_a must be a matrix"),
    (second(tensor, tensor, b=b[:32]),
     "ValueError: mat_a and mat_b shapes cannot be multiplied (32x256 and 32x64)"),
    (second(tensor, tensor, bias=ones(64, dtype=BF16), output_dtype=torch.float32),
     "ValueError: Bias is not supported when out_dtype is set to Float32"),
    (second(tensor, tensor, of_a=one.double()), "ValueError: Invalid scaling configuration."),
    (second(tensor, row), "ValueError: Invalid scaling configuration."),
    (second(row, row, of_a=ones(32), of_b=ones(64, 1)), "IndexError: Dimension out of range"),
    (second(row, row, of_a=ones(32, 1), of_b=ones(1, 65)),
     "ValueError: scale_b must have 64 Float elements, got 65"),
    (second(row, row, of_a=ones(32, 1), of_b=ones(1, 128)[:, ::2]),
     "ValueError: expected scale_b.stride(1) to be 1, but got 2"),
    (second(long, long, of_a=row_a.contiguous(), of_b=row_b.t()),
     "ValueError: scale_a strides must be (1, 32); got: [2, 1]"),
    (second(long, square, of_a=row_a, of_b=ones(1, 2).t()),
     "ValueError: scale_b must have shape 4 x 1 Float elements, got [2, 1]"),
    (second(mx, mx, of_a=tiles, of_b=tiles), "ValueError: swizzle_a must have 1 value, got 0"),
    (second(mx, mx, of_a=tiles, of_b=tiles, swizzle_a=swizzled.NO_SWIZZLE,
            swizzle_b=swizzled.SWIZZLE_32_4_4),
     "ValueError: scale_a must be swizzled to SWIZZLE_32_4_4 format"),
    (second(mx, mx, of_a=tiles, of_b=tiles, swizzle_a=swizzled.SWIZZLE_32_4_4,
            swizzle_b=swizzled.SWIZZLE_32_4_4),
     "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling"),
):
    assert found.startswith(text), (text, found)
""",
    )


OF_GENERATIONS = {
    "a100-80g": 'assert "compute capability >= 9.0 or 8.9" in mm(), mm()',
    "l4": """
unsupported = "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED"
assert unsupported in mm(b=b.contiguous()), mm(b=b.contiguous())
assert unsupported in mm(of_a=row_a, of_b=row_b)
found = mm(b=b.to(E5M2), of_a=ones(32, 1), of_b=ones(1, 64))
assert found.startswith("RuntimeError: Expected b.dtype() == at::kFloat8_e4m3fn to be true"), found
found = mm(of_a=ones(32, 1), of_b=ones(1, 64), out_dtype=E4M3)
assert found.startswith("ValueError: Only bf16"), found
""",
    "b200": """
for x, y in ((a, b), (a, b.contiguous()), (a.t().contiguous().t(), b)):
    found = torch._scaled_mm(x, y, one, one, out_dtype=BF16)
    assert (found == 256).all()
if kind:
    found = second(kind.BlockWise1x128, kind.BlockWise1x128, of_a=row_a, of_b=row_b.t())
    assert found == ("NotImplementedError: DeepSeek style (1x128, 128x128) scaling only supported "
                     "in CUDA for SM90"), found
""",
}


@pytest.mark.parametrize("profile", OF_GENERATIONS)
def test_devices_take_what_their_generation_has(run_virtual, profile: str) -> None:
    run(run_virtual, OF_GENERATIONS[profile], profile)


def test_what_grouped_products_refuse(run_virtual) -> None:
    run(
        run_virtual,
        """
ends = torch.tensor([16, 32], device="cuda", dtype=torch.int32)
flat, each = ones(32, 64, dtype=BF16), ones(2, 64, 16, dtype=BF16)
def grouped(a, b, **others):
    return said(lambda: torch._grouped_mm(a, b, **others))
assert grouped(flat, each, offs=ends) == "torch.bfloat16 (32, 16)"
for found, text in (
    (grouped(flat, each), "RuntimeError: Have to provide offsets if there is a 2d matrix, or no"),
    (grouped(flat, each, offs=ends.long()), "RuntimeError: Offsets have to be int32"),
    (grouped(flat, each, offs=ends[:1]), "RuntimeError: matrix batch sizes have to match"),
    (grouped(flat[:, :32], each, offs=ends), "RuntimeError: contraction dimension of mat_a and"),
    (grouped(flat.int(), each, offs=ends), "RuntimeError: Expected mat_a to be"),
    (grouped(ones(4, 3, dtype=BF16), ones(2, 3, 16, dtype=BF16), offs=ends),
     "RuntimeError: strides should be multiple of 16 bytes"),
    (grouped(flat, each, offs=ends, out_dtype=torch.float32),
     "RuntimeError: Grouped gemm output dtype must match `mat_a` dtype"),
    (grouped(flat, each, offs=ends, bias=ones(16, dtype=BF16)),
     "RuntimeError: Bias not supported yet"),
):
    assert found.startswith(text), (text, found)

flat, each = ones(32, 64, dtype=E4M3), ones(2, 16, 64, dtype=E4M3).transpose(1, 2)
def scaled(a=flat, b=each, of_a=ones(32), of_b=ones(2, 16), **others):
    given = {"offs": ends, "out_dtype": BF16, **others}
    return said(lambda: torch._scaled_grouped_mm(a, b, of_a, of_b, **given))
assert scaled() == "torch.bfloat16 (32, 16)"
for found, text in (
    (scaled(b=each.contiguous()), "ValueError: Expected mat2 to be transposed"),
    (scaled(of_a=ones(16)), "RuntimeError: scale must have the same length as mat for arg 0"),
    (scaled(of_b=ones(2, 32)), "RuntimeError: scale must have the same first dimension as mat"),
    (scaled(offs=None), "ValueError: Have to provide offsets if there is a 2d matrix"),
    (scaled(out_dtype=torch.half), "ValueError: Only bf16 high precision output types are"),
    (scaled(flat.to(E5M2)), "ValueError: Expected mat_a to be Float8_e4m3 matrix got Float8_e5m2"),
):
    assert found.startswith(text), (text, found)
""",
    )


def test_memory_is_that_of_the_result_and_of_cublas(run_virtual) -> None:
    run(
        run_virtual,
        """
torch._scaled_mm(a, b, one, one, out_dtype=BF16)  # takes the workspace
calls = [lambda: torch._scaled_mm(a, b, one, one, out_dtype=BF16),
         lambda: torch._scaled_mm(a, b, row_a, row_b, out_dtype=BF16)]
if kind:
    calls.append(lambda: F.scaled_mm(a, b, one, kind.TensorWise, one, kind.TensorWise,
                                     output_dtype=BF16))
for call in calls:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    found = call()
    assert torch.cuda.max_memory_allocated() - before == 32 * 64 * 2, call
""",
    )


EMPTY = """
ends = torch.tensor([0, 32], device="cuda", dtype=torch.int32)
rows, columns = ones(16, 32, dtype=BF16), ones(16, 32, dtype=BF16)
# In columns and in rows, as for gradients of weights, a group may be empty.
found = torch._grouped_mm(rows.t().contiguous().t(), columns.t().contiguous(), offs=ends)
assert (found[0] == 0).all() and (found[1] == 32).all()
print(said(lambda: torch._grouped_mm(rows, columns.t(), offs=ends)))
print(said(lambda: torch.cuda.synchronize() or one))
"""


def test_a_group_that_may_not_be_empty_is_asserted(run_virtual) -> None:
    devices = "cuda:1,profile=h100-80g"
    called = run_virtual(START + EMPTY, devices=devices).stdout
    assert called.startswith("RuntimeError: group 0 of offs has a size"), called
    done = run_virtual(START + EMPTY, devices=devices, TORCHPORT_ERRORS="device")
    assert "torch.bfloat16 (2, 16, 16)" in done.stdout, done.stdout
    assert "device-side assert triggered" in done.stdout
    assert "expected offsets to be greater than 0" in done.stderr
