"""Compares `torchport run --no-data` with the memory that a real device needed (recorded/).

    python tests/plan/compare.py [--packages FOLDER] [--only PART] [--write docs/plan.md]

Prints a table, and ends with 1 if fewer than nine of ten programs are within 2 % of what was allocated,
or one is more than 5 % below.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
BEGIN, END = "<!-- measured: written by make test-plan -->", "<!-- end of measured -->"
MIB = 1 << 20
# Models of which other recordings of a real device (tests/fidelity, memory/networks, and the recurrent layers of
# tests/virtual/test_cudnn_rnn.py) were read when the memory of cuDNN and cuBLAS was written down, in other sizes.
READ = {"resnet50", "gpt2", "gpt2-medium", "gpt2-xl", "lstm", "gru"}


def read(path: Path) -> dict:
    with gzip.open(path) as file:
        return json.load(file)


def planned(
    program: str,
    arguments: list[str],
    packages: str,
    options: tuple[object, ...] = ("--profile", "h100-80g"),
    environment: dict[str, str] | None = None,
) -> dict | str:
    """The figures of a program without the device, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "plan.gz"
        words = [HERE / "measure.py", out, HERE / "programs" / program, *arguments]
        command = [TORCHPORT, "run", "-q", "--no-data", *options, "--", sys.executable, *words]
        run = subprocess.run(
            [str(one) for one in command],
            env=os.environ | {"PYTHONPATH": packages} | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        if not out.exists():
            lines = run.stderr.strip().splitlines()
            return lines[-1] if lines else f"ended with {run.returncode}"
        return read(out)


def write_between(page: Path, begin: str, end: str, text: str) -> None:
    """Replaces what a page has between two marks."""
    old = page.read_text()
    before, after = old.index(begin) + len(begin), old.index(end)
    page.write_text(f"{old[:before]}\n\n{text}\n\n{old[after:]}")


def share(found: int, real: int) -> str:
    return f"{(found / real - 1) * 100:+.2f} %"


def is_read(real: dict) -> bool:
    return bool(READ & set(real["arguments"]))


def summary(errors: list[float]) -> str:
    below = sum(error < -0.05 for error in errors)
    return (
        f"{sum(abs(error) <= 0.02 for error in errors)} of {len(errors)} programs are within 2 % of "
        f"`max_memory_allocated`, {sum(abs(error) <= 0.005 for error in errors)} within 0.5 %; "
        f"{below} {'is' if below == 1 else 'are'} more than 5 % below"
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    recorded = {
        path.name.split(".json")[0]: path for path in sorted((HERE / "recorded").glob("*.gz"))
    }
    chosen = {name: read(path) for name, path in recorded.items() if options.only in name}
    with ThreadPoolExecutor(2) as pool:
        running = {
            name: pool.submit(planned, real["program"], real["arguments"], options.packages)
            for name, real in chosen.items()
        }
        found = {name: future.result() for name, future in running.items()}
    rows = ["| program | allocated, real | planned | | reserved, real | planned | |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    errors = []
    for name, real in chosen.items():
        plan = found[name]
        words = f"`{real['program']} {' '.join(real['arguments'])}`{' *' if is_read(real) else ''}"
        if isinstance(plan, str):
            rows.append(f"| {words} | {real['allocated'] // MIB} | {plan} | | | | |")
            errors.append(-1.0)
            continue
        errors.append(plan["allocated"] / real["allocated"] - 1)
        cells = [words]
        for kind in ("allocated", "reserved"):
            cells += [str(real[kind] // MIB), str(plan[kind] // MIB), share(plan[kind], real[kind])]
        rows.append(f"| {' | '.join(cells)} |")
    within = sum(abs(error) <= 0.02 for error in errors)
    below = sum(error < -0.05 for error in errors)
    unread = [
        error for error, real in zip(errors, chosen.values(), strict=True) if not is_read(real)
    ]
    told = f"{summary(errors)}.\nWithout the lines marked *: {summary(unread)}."
    text = "\n".join([*rows, "", told])
    print(text)
    if options.write:
        write_between(options.write, BEGIN, END, text)
    return 0 if within * 10 >= len(errors) * 9 and below == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
