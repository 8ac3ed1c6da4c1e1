"""Programs that verify models: each runs in a Python of its own, many cases in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
        [sys.executable, *map(str, words)],
        cwd=cwd or PROGRAMS,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def results_of(program: str, devices: str | None) -> dict[str, dict]:
    """What a program of many cases prints: a line of JSON for each."""
    done = run_python("-W", "ignore", PROGRAMS / program, devices=devices)
    assert done.returncode == 0, done.stdout + done.stderr
    results = {}
    for line in done.stdout.splitlines():
        case = json.loads(line)
        results[case.pop("case")] = case
    return results


@pytest.fixture(scope="session")
def mixing() -> dict[str, dict]:
    return results_of("mixing.py", "cuda:2")


@pytest.fixture(scope="session")
def running() -> dict[str, dict]:
    return results_of("running.py", "cuda:2")


@pytest.fixture(scope="session")
def together() -> dict[str, dict]:
    return results_of("together.py", "cuda:2")


@pytest.fixture(scope="session")
def hostile() -> dict[str, dict]:
    return results_of("hostile.py", "cuda:1")


@pytest.fixture(scope="session")
def on_the_cpu() -> dict[str, dict]:
    return results_of("on_the_cpu.py", None)


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
