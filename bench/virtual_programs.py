"""Compares whole training steps on a virtual device with the same steps on the CPU.

For each program two processes, one with virtual devices and `device="cuda"`, the other with
`device="cpu"`, take their steps in turn, so that noise affects both alike. It prints the seconds
per step (medians), the median of the pairs' ratios, and the ratio of the processes' peak memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

WORKER = Path(__file__).with_name("training_step.py")
SMALL = ("small cnn", "small transformer", "small lstm")
PROGRAMS = ("resnet50", "transformer", "lstm", "dlrm", *SMALL)
TIME_BOUND = MEMORY_BOUND = 1.05


class Worker:
    """A process that takes one training step whenever it is asked to."""

    def __init__(self, program: str, device: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPORT_")}
        if library := os.environ.get("TORCHPORT_LIBRARY"):
            environment["TORCHPORT_LIBRARY"] = library
        if device != "cpu":
            environment["TORCHPORT_VIRTUAL"] = "cuda:1,random=cpu"
        self._process = subprocess.Popen(
            [sys.executable, WORKER, program, device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, word: str) -> float:
        print(word, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{WORKER.name} ended with {self._process.wait()}")
        return float(answer)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def compare(program: str, steps: int) -> tuple[float, float, float, float, bool]:
    virtual, cpu = Worker(program, "cuda"), Worker(program, "cpu")
    for worker in (virtual, cpu):  # allocators and caches warm up
        worker.ask("step"), worker.ask("step")
    pairs = [(virtual.ask("step"), cpu.ask("step")) for _ in range(steps)]
    memory = virtual.ask("peak") / cpu.ask("peak")
    same = virtual.ask("loss") == cpu.ask("loss")
    virtual.close(), cpu.close()
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return ours, theirs, statistics.median(a / b for a, b in pairs), memory, same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    parser.add_argument("--steps", type=int, default=15)
    options = parser.parse_args()
    print(f"{'training step':18}{'virtual':>10}{'cpu':>10}{'time':>8}{'memory':>8}   losses")
    for program in options.programs:
        ours, theirs, time, memory, same = compare(program, options.steps)
        missed = [n for n, v in (("time", time), ("memory", memory)) if v > TIME_BOUND]
        verdict = f"MISSED: {', '.join(missed)}" if missed else f"both <= {TIME_BOUND}"
        print(
            f"{program:18}{ours * 1e3:7.1f} ms{theirs * 1e3:7.1f} ms{time:8.3f}{memory:8.3f}   "
            f"{'equal' if same else 'DIFFER'}  {verdict}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
