"""Programs on virtual devices: each runs in a process that is told of them before torch."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from python_process import run_python

PROGRAMS = Path(__file__).parent / "programs"
Run = Callable[..., subprocess.CompletedProcess]


def run_in(
    folder: Path,
    program: str | Path,
    *,
    devices: str | None = "cuda:2",
    args: Sequence[object] = (),
    python_args: Sequence[str] = (),
    check: bool = True,
    timeout: float = 120,
    cwd: Path | None = None,
    **env: str,
) -> subprocess.CompletedProcess:
    if isinstance(program, Path):
        path = program if program.is_absolute() else PROGRAMS / program
    else:
        path = folder / "program.py"
        path.write_text(program)
    options = {"devices": devices, "check": check, "timeout": timeout, "cwd": cwd or folder}
    return run_python(*python_args, path, *args, **options, **env)


@pytest.fixture
def run_virtual(tmp_path: Path) -> Run:
    """run_virtual(code_or_path, devices="cuda:2", **env): the ended process, with its output.

    A Path is a program to run, a str is code. `devices=None` runs without virtual devices.
    """
    return functools.partial(run_in, tmp_path)


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """As run_virtual, for what all tests of a module share."""
    return functools.partial(run_in, tmp_path_factory.mktemp("module"))


@pytest.fixture
def seeded() -> None:
    """The same random numbers in every run; for modules that are marked with `devices`."""
    import torch

    torch.manual_seed(0)
