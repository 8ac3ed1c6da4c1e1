"""Measures what virtual devices add to the start of a program.

    virtual_start.py [PYTHON...]    of other environments; else this one and those of `make test-releases`

It measures `import torch` with and without virtual devices, for each environment's torch. Processes run
in turn, and each is compared with the one after it. The figures are the medians of what is more: wall
time with the interval in which the median lies (95 %, from the order of the differences), and CPU time,
which other work on the machine disturbs less. It also measures what the line of the .pth file costs
every Python process of the environment while the variable is not set.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import sysconfig
import timeit
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 15
BOUND_IMPORT, BOUND_UNSET = 0.100, 20e-6  # seconds


@dataclass
class Cost:
    """Seconds of one process."""

    wall: float
    cpu: float


def cost(python: Path, words: list[str], **variables: str) -> Cost:
    environment = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"} | variables
    before = os.times()
    subprocess.run([python, "-W", "ignore", *words], env=environment, check=True)
    after = os.times()
    cpu = (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
    return Cost(after.elapsed - before.elapsed, cpu)


def interval(values: list[float]) -> tuple[float, float]:
    """Bounds of the median: the order statistics that hold it in 95 % of samples (sign test)."""
    ordered = sorted(values)
    below, total = 0, 0.0
    while total + math.comb(len(ordered), below) / 2 ** len(ordered) <= 0.025:
        total += math.comb(len(ordered), below) / 2 ** len(ordered)
        below += 1
    cut = max(below - 1, 0)
    return ordered[cut], ordered[len(ordered) - 1 - cut]


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
        (cost(python, program, TORCHPORT_VIRTUAL="cuda:1"), cost(python, program))
        for _ in range(RUNS + 1)
    ][1:]
    differences = [ours.wall - plain.wall for ours, plain in pairs]
    more = statistics.median(differences)
    low, high = interval(differences)
    cpu = statistics.median(ours.cpu - plain.cpu for ours, plain in pairs)
    plain = statistics.median(plain.wall for _, plain in pairs)
    print(
        f"import torch {version}: {plain:.2f} s; {more * 1e3:.0f} ms more with virtual devices "
        f"({low * 1e3:.0f} to {high * 1e3:.0f}; {cpu * 1e3:.0f} ms of CPU time)  "
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
