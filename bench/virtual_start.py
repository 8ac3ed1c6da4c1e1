"""Measures what virtual devices add to the start of a program.

    virtual_start.py [PYTHON...]    of other environments; else this one and those of `make test-releases`

Processes run in turn; the figures are medians of wall time. It measures `import torch` with and
without virtual devices, for each environment's torch, and what the line of the .pth file costs every
Python process of the environment while the variable is not set.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import sysconfig
import time
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 11
BOUND_IMPORT, BOUND_UNSET = 0.100, 20e-6  # seconds


def seconds(python: Path, words: list[str], **variables: str) -> float:
    environment = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"} | variables
    start = time.perf_counter()
    subprocess.run([python, "-W", "ignore", *words], env=environment, check=True)
    return time.perf_counter() - start


def has_torchport(python: Path) -> bool:
    return any(python.parents[1].glob("lib/python*/site-packages/torchport"))


def verdict(value: float, bound: float) -> str:
    return f"<= {bound * 1e3:g} ms: {'reached' if value <= bound else 'MISSED'}"


def unset() -> float:
    os.environ.pop("TORCHPORT_VIRTUAL", None)
    line = Path(sysconfig.get_path("purelib"), "torchport_virtual.pth").read_text()
    code = compile(line, "torchport_virtual.pth", "exec")
    return min(timeit.repeat(lambda: exec(code, {}), number=1000, repeat=5)) / 1000


def measure(python: Path) -> None:
    """Prints what `import torch` takes in one environment."""
    about = [python, "-W", "ignore", "-c", "import torch; print(torch.__version__)"]
    version = subprocess.run(about, capture_output=True, text=True, check=True).stdout.strip()
    program = ["-c", "import torch"]
    pairs = [
        (seconds(python, program, TORCHPORT_VIRTUAL="cuda:1"), seconds(python, program))
        for _ in range(RUNS + 1)
    ][1:]
    more = statistics.median(a - b for a, b in pairs)
    ours, plain = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"import torch {version}: {ours:.3f} s virtual, {plain:.3f} s plain; {more * 1e3:.0f} ms more  "
        f"{verdict(more, BOUND_IMPORT)}",
        flush=True,
    )


def main() -> int:
    pythons = [Path(word) for word in sys.argv[1:]]
    if not pythons:
        others = sorted(ROOT.glob("build/releases/torch-*/venv/bin/python"))
        pythons = [Path(sys.executable), *filter(has_torchport, others)]
    for python in pythons:
        measure(python)
    line = unset()
    print(f"variable unset: {line * 1e6:.1f} us  {verdict(line, BOUND_UNSET)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
