"""A run of pytest that ends: at its limit it is asked to, and writes what it has."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

SECONDS_TO_END = 60


def run_bounded(
    command: list[str], folder: Path, env: dict[str, str], log: Path, limit: int
) -> float:
    """Runs pytest, and returns how long it took. At its limit (s) it is asked to end."""
    started = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=out, stderr=out, start_new_session=True
        )
        for word, wait in ((signal.SIGINT, limit), (signal.SIGKILL, SECONDS_TO_END)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait)
                break
            os.killpg(process.pid, word)
        process.wait()
    return time.monotonic() - started
