"""Compares `torchport doctor` with PyTorch's report, `python -m torch.utils.collect_env`.

Both run in turn, in the environment with torch and without one. It prints medians of wall time and
the median of the ratios of the pairs. With a folder as argument it also measures the torch of that
environment, such as a build for CUDA, whose architectures are read from its library.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 7
TORCHPORT = Path(sys.executable).parent / "torchport"
BOUND_TORCH, BOUND_ALONE = 0.300, 0.050  # seconds


def seconds(words: list[str | Path], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    took = time.perf_counter() - start
    # Exit code 1 means a GPU that torch cannot use, which is a valid answer.
    assert done.returncode in (0, 1), done.stderr.decode()
    return took


def verdict(value: float, bound: float) -> str:
    return f"<= {bound * 1e3:g} ms: {'reached' if value <= bound else 'MISSED'}"


def compare(label: str, prefix: Path) -> None:
    environment = os.environ | {"VIRTUAL_ENV": str(prefix)}
    collect = [prefix / "bin" / "python", "-m", "torch.utils.collect_env"]
    pairs = [
        (seconds([TORCHPORT, "doctor"], environment), seconds(collect, environment))
        for _ in range(RUNS + 1)
    ][1:]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(
        f"{label}: doctor {ours * 1e3:.0f} ms, collect_env {theirs:.2f} s, {ratio:.3f} of it  "
        f"{verdict(ours, BOUND_TORCH)}"
    )


def main() -> int:
    compare("torch of this environment", Path(sys.prefix))
    for folder in sys.argv[1:]:
        compare(f"torch of {folder}", Path(folder))
    # Without an environment and a compiler, only the machine is examined.
    alone = {"PATH": "/nonexistent", "VIRTUAL_ENV": "/nonexistent"}
    ours = statistics.median([seconds([TORCHPORT, "doctor"], alone) for _ in range(RUNS + 1)][1:])
    print(f"machine alone: doctor {ours * 1e3:.0f} ms  {verdict(ours, BOUND_ALONE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
