"""Measures what virtual devices add to the start of a program.

Processes run in turn; the figures are medians of wall time. It measures `import torch` with and
without virtual devices, and what the line of the .pth file costs every Python process of the
environment while the variable is not set.
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

RUNS = 11
BOUND_IMPORT, BOUND_UNSET = 0.100, 20e-6  # seconds


def seconds(words: list[str], **variables: str) -> float:
    environment = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"} | variables
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], env=environment, check=True)
    return time.perf_counter() - start


def verdict(value: float, bound: float) -> str:
    return f"<= {bound * 1e3:g} ms: {'reached' if value <= bound else 'MISSED'}"


def unset() -> float:
    os.environ.pop("TORCHPORT_VIRTUAL", None)
    line = Path(sysconfig.get_path("purelib"), "torchport_virtual.pth").read_text()
    code = compile(line, "torchport_virtual.pth", "exec")
    return min(timeit.repeat(lambda: exec(code, {}), number=1000, repeat=5)) / 1000


def main() -> int:
    program = ["-c", "import torch"]
    pairs = [
        (seconds(program, TORCHPORT_VIRTUAL="cuda:1"), seconds(program)) for _ in range(RUNS + 1)
    ][1:]
    more = statistics.median(a - b for a, b in pairs)
    ours, plain = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"import torch: {ours:.3f} s virtual, {plain:.3f} s plain; {more * 1e3:.0f} ms more  "
        f"{verdict(more, BOUND_IMPORT)}"
    )
    line = unset()
    print(f"variable unset: {line * 1e6:.1f} us  {verdict(line, BOUND_UNSET)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
