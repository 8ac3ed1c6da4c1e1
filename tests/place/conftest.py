"""Programs of placement: each runs in a process of its own, so that the runner never imports torch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from python_process import run_python

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """run_program("load_peak.py", devices="cuda:2"): the ended process; `devices=None` is a plain CPU."""

    def run(
        program: str,
        *args: object,
        devices: str | None = None,
        python_args: Sequence[str] = (),
        timeout: float = 180,
        check: bool = True,
        **env: str,
    ) -> subprocess.CompletedProcess:
        options = {"devices": devices, "check": check, "timeout": timeout, "cwd": tmp_path}
        return run_python(*python_args, PROGRAMS / program, *args, **options, **env)

    return run
