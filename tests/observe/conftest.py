"""Programs that verify models: each runs in a process of its own, perhaps a fork (`forking`)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import forking
import pytest

PROGRAMS = Path(__file__).parent / "programs"


def run_python(
    *words: object, devices: str | None = None, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess:
    """A Python with ``words`` as its arguments, and virtual devices if there are to be some."""
    settings = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    settings |= {"OMP_NUM_THREADS": "1", **env}
    if devices is not None:
        settings["TORCHPORT_VIRTUAL"] = devices
    return subprocess.run(
        forking.command(words, settings, own=env),
        cwd=cwd or PROGRAMS,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def python():
    """run_python, above."""
    return run_python


@pytest.fixture
def verify():
    """verify("zoo:make", ...): the ended command, started in the folder of the programs."""

    def run(*words: object, **options) -> subprocess.CompletedProcess:
        return run_python("-m", "torchport.observe.command", *words, **options)

    return run
