"""A Python of its own, which is told of virtual devices before torch is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_python(
    *words: object,
    devices: str | None,
    cwd: Path,
    timeout: float,
    check: bool,
    **env: str,
) -> subprocess.CompletedProcess:
    """The ended process, with its output. `devices=None` is a plain CPU."""
    settings = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    settings |= {"OMP_NUM_THREADS": "1", **env}
    if devices is not None:
        settings["TORCHPORT_VIRTUAL"] = devices
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, words)],
        cwd=cwd,
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
