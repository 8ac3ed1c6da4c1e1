"""A process with Python, which is told of virtual devices before torch is imported.

It is a fork of a process that has imported torch, if that makes no difference (`forking`)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import forking


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
        forking.command(["-W", "ignore", *words], settings, own=env),
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
