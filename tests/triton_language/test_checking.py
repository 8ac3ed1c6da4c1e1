"""`torchport run --check-kernels` on Triton's kernels: one bug each, at its line, and none where there is none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed: `make test-triton` has it")

TORCHPORT = Path(sys.executable).with_name("torchport")
PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def add_one(x, n, B: tl.constexpr, GUARD: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n if GUARD else None)  # load
    tl.store(x + i, v + 1, mask=i < n if GUARD else None)  # store

@triton.jit
def count(total, B: tl.constexpr, ATOMIC: tl.constexpr):
    if ATOMIC:
        tl.atomic_add(total, 1)
    else:
        tl.store(total, tl.load(total) + 1)  # counts

@triton.jit
def shift(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i + 1, mask=i + 1 < n)  # neighbours
    tl.store(x + i, v, mask=i < n)  # moves

@triton.jit
def last_value(x, V: tl.constexpr):
    tl.store(x, tl.program_id(0) * V)  # overwrites

@triton.jit
def locked_sum(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + 1)
    tl.atomic_xchg(lock, 0)

def zeros(*size, dtype=torch.int32):
    return torch.zeros(*size, dtype=dtype, device="cuda")

"""


def checked(call: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(PROGRAM + call + "\n")
    return subprocess.run(
        [TORCHPORT, "run", "-q", "--check-kernels", path],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def line_of(comment: str) -> int:
    lines = PROGRAM.splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))


@pytest.mark.parametrize(
    ("call", "cause", "lines", "words"),
    [
        (
            "add_one[(2,)](zeros(30), 30, 16, False)",
            "out of bounds",
            ["load", "store"],
            "loads 4 bytes: 0 bytes behind the end of tensor int32[30]",
        ),
        ("count[(4,)](zeros(1), 16, False)", "race", ["counts"], "of tensor int32[1]"),
        ("shift[(4,)](zeros(64), 64, 16)", "race", ["neighbours", "moves"], "element 16 of tensor"),
        ("last_value[(3,)](zeros(1), 1)", "race", ["overwrites"], "program (0, 0, 0) stored to"),
    ],
)
def test_a_bug_is_found_at_its_line(
    call: str, cause: str, lines: list[str], words: str, tmp_path: Path
) -> None:
    run = checked(call, tmp_path)
    found = re.findall(r"^torchport: ([a-z ]+): \S+:(\d+): program .*$", run.stderr, re.MULTILINE)
    assert found, run.stdout + run.stderr
    assert {said for said, _ in found} == {cause}, run.stderr
    assert {int(line) for _, line in found} <= {line_of(one) for one in lines}, run.stderr
    assert words in run.stderr
    assert run.returncode == 1


def test_what_is_right_is_left_alone(tmp_path: Path) -> None:
    run = checked(
        "x = zeros(30)\n"
        "add_one[(2,)](x, 30, 16, True)\n"
        "total = zeros(1)\n"
        "count[(4,)](total, 16, True)\n"
        "same = zeros(1)\n"
        "last_value[(3,)](same, 0)\n"
        "lock, sums = zeros(1), zeros(1)\n"
        "locked_sum[(5,)](lock, sums)\n"
        "print(x.sum().item(), total.item(), sums.item())",
        tmp_path,
    )
    assert run.stdout == "30 4 5\n", run.stderr
    assert "torchport: kernels were checked in 4 launches: nothing was found" in run.stderr
    assert run.returncode == 0
