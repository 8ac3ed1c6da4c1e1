"""Programs on virtual devices: each runs in a Python of its own, which is told of them before torch."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

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
    settings = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    settings |= {"OMP_NUM_THREADS": "1", **env}
    if devices is not None:
        settings["TORCHPORT_VIRTUAL"] = devices
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *python_args, str(path), *map(str, args)],
        cwd=cwd or folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


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
