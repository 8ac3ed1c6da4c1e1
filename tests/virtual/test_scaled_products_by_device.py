"""Products of float8 and float4 with factors, and of groups of matrices, by the device's generation:
compared with float64, and what a generation does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAM = Path("scaled_products.py")


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
kind = getattr(F, "ScalingType", None)

def ones(*sizes, dtype=torch.float32):
    return torch.ones(sizes, device="cuda").to(dtype)

a, b = ones(32, 256, dtype=E4M3), ones(64, 256, dtype=E4M3).t()
one = ones()
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
    run_virtual(START + OF_GENERATIONS[profile], devices=f"cuda:1,profile={profile}")


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
    done = run_virtual(START + EMPTY, devices="cuda:1,profile=h100-80g", TORCHPORT_ERRORS="device")
    assert "torch.bfloat16 (2, 16, 16)" in done.stdout, done.stdout
    assert "device-side assert triggered" in done.stdout
    assert "expected offsets to be greater than 0" in done.stderr
