"""Programs of placement: each runs in a Python of its own, so that the runner never imports torch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

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
        settings = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
        settings |= {"OMP_NUM_THREADS": "1", **env}
        if devices is not None:
            settings["TORCHPORT_VIRTUAL"] = devices
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                *python_args,
                str(PROGRAMS / program),
                *map(str, args),
            ],
            cwd=tmp_path,
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

    return run
