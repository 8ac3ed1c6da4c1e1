"""Products of float8 with factors, and of groups of matrices: what an H100 refuses, in its words, and
what memory they take. The words are those of an H100 with torch 2.11 (tests/fidelity), and of
ATen's ScaledBlas.cpp and GroupedBlas.cpp."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.devices("cuda:1", profile="h100-80g")

E4M3, E5M2, BF16 = torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16
KIND, SWIZZLE = getattr(F, "ScalingType", None), getattr(F, "SwizzleType", None)
SECOND_FORM = pytest.mark.skipif(KIND is None, reason="torch 2.10 has the second form first")


def ones(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(sizes, device="cuda").to(dtype)


A, B = ones(32, 256, dtype=E4M3), ones(64, 256, dtype=E4M3).t()
ONE, FEW_A, FEW_B = ones(), ones(2, 32).t(), ones(2, 64)
TILES = torch.full((1024,), 127, dtype=torch.uint8, device="cuda").view(torch.float8_e8m0fnu)
UNSUPPORTED = "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul"


def refuses(error: type[Exception], text: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match="^" + re.escape(text)):
        call()


def mm(
    a: torch.Tensor = A,
    b: torch.Tensor = B,
    of_a: torch.Tensor = ONE,
    of_b: torch.Tensor = ONE,
    **others: object,
) -> Callable[[], torch.Tensor]:
    return lambda: torch._scaled_mm(a, b, of_a, of_b, **{"out_dtype": BF16, **others})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (mm(b=B.contiguous()), "Only multiplication of row-major and column-major matrices is "),
        (mm(A[0]), "mat1 must be a matrix"),
        (mm(A[:, :128]), "mat1 and mat2 shapes cannot be multiplied (32x128 and 256x64)"),
        (
            mm(A[:, :250], B[:250]),
            "Expected trailing dimension of mat1 to be divisible by 16 but "
            "got mat1 shape: (32x250).",
        ),
        (mm(b=B[:, :60]), "mat2 shape (256x60) must be divisible by 16"),
        (
            mm(bias=ones(64, dtype=BF16), out_dtype=torch.float32),
            "Bias is not supported when out_dtype is set to Float32",
        ),
        (mm(bias=ones(64)), "Bias must be BFloat16 or Half, but got Float"),
        (
            mm(bias=ones(64, dtype=torch.half)),
            "Bias must be BFloat16 to compute BFloat16 output, but got Half",
        ),
        (
            mm(bias=ones(64, dtype=BF16), out_dtype=torch.half),
            "Bias must be Float16 to compute Half output, but got BFloat16",
        ),
        (mm(bias=ones(32, dtype=BF16)), "Bias must be size 64 but got 32"),
        (mm(scale_result=ones(2)), "scale_result must be a float scalar"),
        (
            mm(of_a=FEW_A, of_b=FEW_B, use_fast_accum=True),
            "scaled_gemm doesn't support fast accum with 1x128 blockwise scaling",
        ),
        (mm(out_dtype=E5M2), UNSUPPORTED),
        (mm(out_dtype=torch.float64), UNSUPPORTED),
        (mm(of_a=TILES, of_b=TILES), UNSUPPORTED),
        (mm(ones(32, 40, dtype=E4M3)[:, :32], B[:32]), UNSUPPORTED),
        (mm(A.double()), "Invalid scaling configuration."),
    ],
)
def test_what_the_first_form_refuses(call: Callable[[], object], text: str) -> None:
    refuses(RuntimeError, text, call)


def test_wrong_factors_are_told_with_what_would_be_right() -> None:
    with pytest.raises(RuntimeError, match="Invalid scaling configuration") as told:
        mm(of_a=ones(32, 2))()
    text = str(told.value)
    assert "scale_a should be (32, 1) and scale_b should be (1, 64), and both" in text
    assert (
        "Got a.dtype()=Float8_e4m3fn, scale_a.dtype()=Float, scale_a.size()=[32, 2], "
        "scale_a.stride()=[2, 1], b.dtype()=Float8_e4m3fn, scale_b.dtype()=Float, "
        "scale_b.size()=[] and scale_b.stride()=[]"
    ) in text


def test_two_matrices_of_e5m2_are_not_multiplied() -> None:
    text = "Multiplication of two Float8_e5m2 matrices is not supported"
    refuses(ValueError, text, mm(A.to(E5M2), B.to(E5M2)))


@pytest.mark.parametrize(("m", "k", "n"), [(0, 16, 32), (32, 0, 16), (32, 16, 0)])
def test_empty_products_are_zeros(m: int, k: int, n: int) -> None:
    x, y = ones(m, k, dtype=E4M3), ones(n, k, dtype=E4M3).t()
    infinite = torch.tensor(float("-inf"), device="cuda")
    torch.full((m, n), float("nan"), device="cuda", dtype=BF16)  # what the memory held before
    found = torch._scaled_mm(x, y, infinite, infinite, out_dtype=BF16)
    assert found.shape == (m, n)
    assert bool((found == 0).all())
    if KIND is not None:
        kind = KIND.TensorWise
        found = F.scaled_mm(x, y, infinite, kind, infinite, kind, output_dtype=BF16)
        assert found.shape == (m, n)
        assert bool((found == 0).all())


def second(
    recipe_a: str,
    recipe_b: str,
    a: torch.Tensor = A,
    b: torch.Tensor = B,
    of_a: torch.Tensor = ONE,
    of_b: torch.Tensor = ONE,
    swizzles: tuple[str, str] = (),
    **others: object,
) -> Callable[[], object]:
    def call() -> object:
        given = {"output_dtype": BF16, **others}
        for name, swizzle in zip(("swizzle_a", "swizzle_b"), swizzles, strict=False):
            given[name] = getattr(SWIZZLE, swizzle)
        kinds = getattr(KIND, recipe_a), getattr(KIND, recipe_b)
        return F.scaled_mm(a, b, of_a, kinds[0], of_b, kinds[1], **given)

    return call


LONG, SQUARE, MX = "BlockWise1x128", "BlockWise128x128", "BlockWise1x32"


@SECOND_FORM
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (second("TensorWise", "TensorWise", of_a=ones(2)), "scale_a must have 1 Float element"),
        (
            second("TensorWise", "TensorWise", A.double()),
            "Expected mat_a to be Float8 or Float4_x2 matrix got Double",
        ),
        (
            second("TensorWise", "TensorWise", b=B.double()),
            "Expected mat_b to be Float8 or Float4_x2 matrix got Double",
        ),
        (second("TensorWise", "TensorWise", A[0]), "mat_a must be a matrix"),
        (
            second("TensorWise", "TensorWise", b=B[:32]),
            "mat_a and mat_b shapes cannot be multiplied (32x256 and 32x64)",
        ),
        (
            second(
                "TensorWise", "TensorWise", bias=ones(64, dtype=BF16), output_dtype=torch.float32
            ),
            "Bias is not supported when out_dtype is set to Float32",
        ),
        (second("TensorWise", "TensorWise", of_a=ONE.double()), "Invalid scaling configuration."),
        (second("TensorWise", "RowWise"), "Invalid scaling configuration."),
        (
            second("RowWise", "RowWise", of_a=ones(32, 1), of_b=ones(1, 65)),
            "scale_b must have 64 Float elements, got 65",
        ),
        (
            second("RowWise", "RowWise", of_a=ones(32, 1), of_b=ones(1, 128)[:, ::2]),
            "expected scale_b.stride(1) to be 1, but got 2",
        ),
        (
            second(LONG, LONG, of_a=FEW_A.contiguous(), of_b=FEW_B.t()),
            "scale_a strides must be (1, 32); got: [2, 1]",
        ),
        (
            second(LONG, SQUARE, of_a=FEW_A, of_b=ones(1, 2).t()),
            "scale_b must have shape 4 x 1 Float elements, got [2, 1]",
        ),
        (second(MX, MX, of_a=TILES, of_b=TILES), "swizzle_a must have 1 value, got 0"),
        (
            second(MX, MX, of_a=TILES, of_b=TILES, swizzles=("NO_SWIZZLE", "SWIZZLE_32_4_4")),
            "scale_a must be swizzled to SWIZZLE_32_4_4 format",
        ),
    ],
)
def test_what_the_second_form_refuses(call: Callable[[], object], text: str) -> None:
    refuses(ValueError, text, call)


@SECOND_FORM
def test_the_second_form_has_two_dimensions_of_rows_and_no_mx() -> None:
    refuses(
        IndexError,
        "Dimension out of range",
        second("RowWise", "RowWise", of_a=ones(32), of_b=ones(64, 1)),
    )
    swizzles = ("SWIZZLE_32_4_4", "SWIZZLE_32_4_4")
    refuses(RuntimeError, UNSUPPORTED, second(MX, MX, of_a=TILES, of_b=TILES, swizzles=swizzles))


ENDS = torch.tensor([16, 32], device="cuda", dtype=torch.int32)
FLAT, EACH = ones(32, 64, dtype=BF16), ones(2, 64, 16, dtype=BF16)


@pytest.mark.parametrize(
    ("a", "b", "others", "text"),
    [
        (FLAT, EACH, {}, "Have to provide offsets if there is a 2d matrix, or no offset if both"),
        (FLAT, EACH, {"offs": ENDS.long()}, "Offsets have to be int32"),
        (FLAT, EACH, {"offs": ENDS[:1]}, "matrix batch sizes have to match"),
        (FLAT[:, :32], EACH, {"offs": ENDS}, "contraction dimension of mat_a and mat_b must match"),
        (FLAT.int(), EACH, {"offs": ENDS}, "Expected mat_a to be"),
        (
            ones(4, 3, dtype=BF16),
            ones(2, 3, 16, dtype=BF16),
            {"offs": ENDS},
            "strides should be multiple of 16 bytes",
        ),
        (
            FLAT,
            EACH,
            {"offs": ENDS, "out_dtype": torch.float32},
            "Grouped gemm output dtype must match `mat_a` dtype",
        ),
        (FLAT, EACH, {"offs": ENDS, "bias": ones(16, dtype=BF16)}, "Bias not supported yet"),
    ],
)
def test_what_groups_refuse(a: torch.Tensor, b: torch.Tensor, others: dict, text: str) -> None:
    refuses(RuntimeError, text, lambda: torch._grouped_mm(a, b, **others))


def test_the_kernel_of_groups_takes_no_empty_sum() -> None:
    ends = torch.tensor([0, 32], device="cuda", dtype=torch.int32)
    rows = ones(16, 32, dtype=BF16)
    text = "group 0 of offs has a size that the kernel does not take"
    refuses(RuntimeError, text, lambda: torch._grouped_mm(rows, rows.t(), offs=ends))


SMALL, SMALLS = ones(32, 64, dtype=E4M3), ones(2, 16, 64, dtype=E4M3).transpose(1, 2)


@pytest.mark.parametrize(
    ("error", "others", "text"),
    [
        (ValueError, {"mat2": SMALLS.contiguous()}, "Expected mat2 to be transposed"),
        (RuntimeError, {"scale_a": ones(16)}, "scale must have the same length as mat for arg 0"),
        (
            RuntimeError,
            {"scale_b": ones(2, 32)},
            "scale must have the same first dimension as mat for arg 1",
        ),
        (ValueError, {"offs": None}, "Have to provide offsets if there is a 2d matrix"),
        (ValueError, {"out_dtype": torch.half}, "Only bf16 high precision output types are "),
        (
            ValueError,
            {"self": SMALL.to(E5M2)},
            "Expected mat_a to be Float8_e4m3 matrix got Float8_e5m2",
        ),
    ],
)
def test_what_scaled_groups_refuse(error: type[Exception], others: dict, text: str) -> None:
    given = {
        "self": SMALL,
        "mat2": SMALLS,
        "scale_a": ones(32),
        "scale_b": ones(2, 16),
        "offs": ENDS,
        "out_dtype": BF16,
    }
    found = torch.ops.aten._scaled_grouped_mm(**given)
    assert found.shape == (32, 16)
    refuses(error, text, lambda: torch.ops.aten._scaled_grouped_mm(**{**given, **others}))


def test_they_take_the_memory_of_their_result() -> None:
    calls = [mm(), mm(of_a=FEW_A, of_b=FEW_B)]
    if KIND is not None:
        calls.append(second("TensorWise", "TensorWise"))
    mm()()  # takes the workspace
    for call in calls:
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        found = call()
        assert found.shape == (32, 64)
        assert torch.cuda.max_memory_allocated() - before == 32 * 64 * 2
