"""Measures `torchport plan` of large language models from start to report: seconds, and the largest memory of the host
that its processes have together.

    python bench/plan_large.py --packages FOLDER

FOLDER has the packages of deps/plan.txt. Run it in the environment in which torchport is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCHPORT = Path(sys.executable).parent / "torchport"
LANGUAGE = ROOT / "tests" / "plan" / "programs" / "language.py"
GENERATE = LANGUAGE.with_name("generate.py")
START = (  # torchvision is there, whose compiled part needs a build of torch for CUDA
    "import runpy, sys, torchvision_operators; kept = torchvision_operators.name(); "
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)
BFLOAT16 = ["--type", "bfloat16", "--steps", "2"]
PLANS = {
    "Llama-2-7B, SGD, 1 x 1024": [
        [], [LANGUAGE, "--model", "llama-2-7b", "--batch", "1", "--length", "1024", "--optimizer", "sgd", *BFLOAT16]
    ],
    "Llama-2-7B generates, prompt of 2048": [
        [], [GENERATE, "--model", "llama-2-7b", "--batch", "1", "--prompt", "2048", "--new", "8"]
    ],
    "Llama-2-70B, LoRA, rank of 8, 1 x 2048": [
        ["--ranks", "8"],
        [LANGUAGE, "--model", "llama-2-70b", "--batch", "1", "--length", "2048", "--low-rank", "16", "--checkpointing",
         "--shard", *BFLOAT16],
    ],
}  # fmt: skip


def resident(root: int) -> int:
    """The bytes of the host that a process and what it started have now."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(stat[1])
        pages[int(folder.name)] = int(stat[21])
    family = {root}
    while True:
        more = {one for one, parent in parents.items() if parent in family} - family
        if not more:
            break
        family |= more
    return sum(pages.get(one, 0) for one in family) * os.sysconf("SC_PAGE_SIZE")


class Peak:
    """The largest `resident` of a process that runs, every 20 ms."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.bytes = 0
        self.thread = threading.Thread(target=self.watch, args=[process])
        self.thread.start()

    def watch(self, process: subprocess.Popen) -> None:
        while process.poll() is None:
            self.bytes = max(self.bytes, resident(process.pid))
            time.sleep(0.02)


def processor() -> float:
    """Seconds of the processor that ended children took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(
    options: list[str], program: list[object], packages: str
) -> tuple[float, float, int, dict]:
    """Seconds from start to end, those of the processor, bytes of the host and the report."""
    command = [TORCHPORT, "plan", "--format", "json", "--profile", "h100-80g", *options]
    words = [str(one) for one in [*command, "--", sys.executable, "-c", START, *program]]
    start, used = time.monotonic(), processor()
    process = subprocess.Popen(
        words, env=os.environ | {"PYTHONPATH": f"{packages}:{ROOT / 'tests' / 'plan'}"}, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    peak = Peak(process)
    report = json.loads(process.communicate()[0])
    seconds = time.monotonic() - start
    peak.thread.join()
    return seconds, processor() - used, peak.bytes, report


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    most = 0
    print(
        f"{'a plan, from start to report':46}{'seconds':>9}{'processor':>11}{'host, MiB':>11}{'device, MiB':>13}"
    )
    for name, (given, program) in PLANS.items():
        if options.only not in name:
            continue
        seconds, used, host, report = measured(given, program, options.packages)
        allocated = max(one["allocated"] for one in report["devices"]) >> 20
        most = max(most, host)
        print(f"{name:46}{seconds:9.1f}{used:11.1f}{host >> 20:11}{allocated:13}", flush=True)
    return 0 if most < 2 << 30 else 1


if __name__ == "__main__":
    sys.exit(main())
