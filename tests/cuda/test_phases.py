"""Kernels that are split where their threads meet compute what their threads compute on fibers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from generated_kernels import program as generated_program
from recorded import TORCHPORT

SEEDS = os.environ.get("TORCHPORT_GENERATED_KERNELS", "0:2")
PROGRAM = Path(__file__).parent / "programs" / "phases.cu"


def answers(folder: Path, *flags: str, program: Path = PROGRAM) -> tuple[str, str]:
    """What the program prints, and the text that the host's compiler got."""
    folder.mkdir()
    command = [TORCHPORT, "nvcc", "--keep", *flags, program, "-o", "program"]
    subprocess.run(command, cwd=folder, check=True, timeout=100)
    (rewritten,) = folder.glob("*.cudafe.ii")
    environment = os.environ | {"TORCHPORT_VIRTUAL": "cuda:1"}
    done = subprocess.run(
        [folder / "program"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout, rewritten.read_text()


def same_answers(folder: Path, *flags: str, program: Path = PROGRAM) -> tuple[str, str, str]:
    """What the program prints in phases, which is what it prints on fibers; and both texts for the compiler."""
    in_phases, split = answers(folder / "phases", *flags, program=program)
    on_fibers, whole = answers(folder / "fibers", *flags, "-G", program=program)
    assert in_phases == on_fibers
    return in_phases, split, whole


def test_phases_and_fibers_agree(tmp_path: Path) -> None:
    in_phases, split, whole = same_answers(tmp_path)
    assert len(in_phases.splitlines()) == 11
    assert split.count("run_kernel_in_phases<torchport_kernel>(") == 7
    assert whole.count("run_kernel_in_phases<torchport_kernel>(") == 0


def test_what_only_looks_like_phases_is_right(tmp_path: Path) -> None:
    program = PROGRAM.with_name("phases_hard.cu")
    in_phases, _, _ = same_answers(tmp_path, "-w", program=program)
    assert in_phases.count("cudaSuccess") == 11


def test_lanes_give_each_other_the_same_values_in_phases(tmp_path: Path) -> None:
    program = PROGRAM.with_name("phases_lanes.cu")
    in_phases, split, whole = same_answers(tmp_path, program=program)
    assert in_phases.count("cudaSuccess") == 20
    assert split.count("run_kernel_in_phases<torchport_kernel>(") == 9
    assert whole.count("run_kernel_in_phases<torchport_kernel>(") == 0


def test_conditions_that_bound_a_row_let_the_same_threads_pass(tmp_path: Path) -> None:
    program = PROGRAM.with_name("phases_bounds.cu")
    in_phases, split, _ = same_answers(tmp_path, "-w", program=program)
    assert in_phases.count("cudaSuccess") == 594
    for bound in (
        "<unsigned>(blockDim.x, n)",
        "<int>(blockDim.x, n)",
        "<unsigned>(blockDim.x, kHalf)",
    ):
        assert f"torchport_most = ::torchport::cuda::threads_below{bound};" in split


# TORCHPORT_GENERATED_KERNELS=200:299 takes other seeds.
@pytest.mark.parametrize("seed", range(*map(int, SEEDS.split(":"))))
def test_generated_kernels_give_the_same_numbers(tmp_path: Path, seed: int) -> None:
    program = tmp_path / f"generated_{seed}.cu"
    program.write_text(generated_program(seed, 12))
    in_phases, split, _ = same_answers(tmp_path, "-w", program=program)
    assert in_phases.count("cudaSuccess") == 60
    assert split.count("run_kernel_in_phases<torchport_kernel>(") > 3
