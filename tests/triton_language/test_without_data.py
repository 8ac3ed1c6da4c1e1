"""Triton's kernels on devices without data: a launch that is given memory without values is not run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TORCHPORT = Path(sys.executable).parent / "torchport"

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    total = tl.load(x_ptr + places, inside) + tl.load(y_ptr + places, inside)
    tl.store(out_ptr + places, total, inside)

@triton.jit
def sum_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + places, places < count, 0.0)))

@triton.jit
def fill_kernel(table_ptr, value, BLOCK: tl.constexpr):
    to = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(to + tl.arange(0, BLOCK), value)

tuned_kernel = triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["count"]
)(add_kernel)

def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out

def total(x):
    out = torch.zeros(1, device="cuda")
    sum_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out

LARGE = 1 << 30
"""


def ran(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM + code)
    return subprocess.run(
        [TORCHPORT, *options, "--profile", "h100-80g", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def printed(folder: Path, code: str, *options: str) -> list[str]:
    done = ran(folder, code, "run", "-q", *(options or ("--no-data",)))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def planned(
    folder: Path, code: str
) -> tuple[list[str], list[tuple[str, int, int]], dict[str, Any]]:
    """What a program prints, the kernels that a plan says were not run, with their lines of the program
    and counts, and the plan."""
    done = ran(folder, code, "plan", "--format", "json")
    assert done.returncode == 0, done.stderr
    words, _, json_text = done.stdout.partition("{\n")
    plan = json.loads("{" + json_text)
    first = len(PROGRAM.splitlines())
    kernels = [
        (one["operator"], int(one["line"].rpartition(":")[2]) - first, one["count"])
        for one in plan["missing_values"]
        if one["kind"] == "kernel not run"
    ]
    return words.split(), kernels, plan


# 4 GiB each: to interpret it would take minutes, and its result 4 GiB of the host.
def test_a_launch_without_values_is_not_run_and_told_of(tmp_path: Path) -> None:
    code = (
        "x = torch.empty(LARGE, device='cuda')\n"
        "for _ in range(3):\n"
        "    tuned_kernel[lambda meta: (triton.cdiv(LARGE, meta['BLOCK']),)](x, x, x, LARGE)\n"
        "sum_kernel[(1,)](x, torch.zeros(1, device='cuda'), 5, BLOCK=16)\n"
    )
    _, kernels, _ = planned(tmp_path, code)
    assert kernels == [("add_kernel", 3, 3), ("sum_kernel", 4, 1)]


def test_a_launch_without_values_takes_no_memory_of_the_host(tmp_path: Path) -> None:
    code = """
import resource
x = torch.empty(LARGE, device='cuda')
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out = add(x, x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10, torch.cuda.memory_allocated() >> 30)
"""
    host, device = map(int, printed(tmp_path, code))
    assert host < 50, "MiB"
    assert device == 8


def test_a_launch_that_has_its_values_is_run(tmp_path: Path) -> None:
    code = "print(*add(torch.arange(8., device='cuda'), torch.ones(8, device='cuda')).tolist())\n"
    words, kernels, _ = planned(tmp_path, code)
    assert words == [f"{one}.0" for one in range(1, 9)]
    assert kernels == []


def test_small_results_count_as_not_there_wherever_they_go(tmp_path: Path) -> None:
    code = (
        "whole = total(torch.empty(LARGE, device='cuda'))\n"
        "more = add(whole, torch.ones(1, device='cuda'))\n"
        "lengths = torch.full((4,), 7., device='cuda')\n"
        "add(lengths, whole)\n"  # it is only read
        "print(whole.item(), more.item(), int(lengths.sum()))\n"
    )
    words, kernels, plan = planned(tmp_path, code)
    assert words == ["0.0", "0.0", "28"]
    assert [(name, count) for name, _, count in kernels] == [("add_kernel", 2), ("sum_kernel", 1)]
    assert sum(one["count"] for one in plan["missing_values"] if one["kind"] == "read") == 2


def test_a_table_of_addresses_is_looked_into(tmp_path: Path) -> None:
    code = (
        "large = [torch.empty(LARGE, device='cuda') for _ in range(3)]\n"
        "small = [torch.empty(16, device='cuda') for _ in range(3)]\n"
        "for them in (large, small):\n"
        "    table = torch.tensor([one.data_ptr() for one in them]).cuda()\n"
        "    fill_kernel[(3,)](table, 2.5, BLOCK=16)\n"
        "print(small[2][15].item())\n"
    )
    words, kernels, _ = planned(tmp_path, code)
    assert words == ["2.5"]
    assert kernels == [("fill_kernel", 5, 1)]


def test_refusals_are_those_of_a_device(tmp_path: Path) -> None:
    code = (
        "x = torch.empty(LARGE, device='cuda')\n"
        "for given, grid in ((torch.ones(4), (1,)), (x, (1, 70000))):\n"
        "    try:\n"
        "        add_kernel[grid](x, given, x, 4, BLOCK=4)\n"
        "    except (ValueError, RuntimeError) as error:\n"
        "        print(error)\n"
    )
    assert " ".join(printed(tmp_path, code)) == (
        "Pointer argument (at 1) cannot be accessed from Triton (cpu tensor?) "
        "Triton Error [CUDA]: invalid argument"
    )


def test_the_bytes_of_a_launch_count_for_the_time(tmp_path: Path) -> None:
    launch = "add_kernel[(1,)](x, x, out, LARGE, BLOCK=64)\n"
    made = "x, out = torch.empty(LARGE, device='cuda'), torch.empty(LARGE, device='cuda')\n"
    once, twice = (
        planned(tmp_path, made + launch * count)[2]["devices"][0]["time"]["at_peak"]["memory"]
        for count in (1, 2)
    )
    assert twice - once == pytest.approx(8 * 2**30 / 3.35e12, rel=0.05)  # the H100's bandwidth


def test_a_graph_counts_its_launches(tmp_path: Path) -> None:
    code = (
        "x = torch.empty(LARGE, device='cuda')\n"
        "add(x, x)\n"
        "graph = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(graph):\n"
        "    out = add(x, x)\n"
        "graph.replay()\n"
        "graph.replay()\n"
    )
    _, kernels, _ = planned(tmp_path, code)
    assert sum(count for *_, count in kernels) == 4


COMPILED = """
import torch
@torch.library.triton_op("tests::add", mutates_args={})
def add_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
def program(x):
    return FUNCTION(x.sin(), x).cos() * 2
x = torch.rand(SIZE, device="cuda")
y = torch.compile(program)(x)
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
"""


@pytest.mark.parametrize("function", ["add", "add_op"])
def test_kernels_in_compiled_functions(tmp_path: Path, function: str) -> None:
    code = COMPILED.replace("FUNCTION", function).replace("SIZE", "1 << 18")
    words, kernels, _ = planned(tmp_path, code)
    assert words == printed(tmp_path, code, "--random", "cpu")
    assert [(name, count) for name, _, count in kernels] == [("add_kernel", 1)]
