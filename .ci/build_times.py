#!/usr/bin/env python3
"""What a build took, by layer: build_times.py [BUILD FOLDER]; by default build/release.

ninja keeps when each step began and ended. Steps that were done again count as they were last, and steps
whose result came out of ccache took no time: for true figures, build from nothing with CCACHE_DISABLE=1.
What one unit spends its time on, the compiler says: -ftime-report (g++), -ftime-trace (clang).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def steps(build: Path) -> dict[str, float]:
    """The seconds of each step, by what it made."""
    log = (build / ".ninja_log").read_text()
    listed = subprocess.run(
        ["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True
    ).stdout
    made_today = {line.rpartition(": ")[0] for line in listed.splitlines()}
    took: dict[str, float] = {}
    for line in log.splitlines()[1:]:
        begin, end, _, made, _ = line.split("\t")
        if made in made_today:  # the log also has what an older state of the project made
            took[made] = (int(end) - int(begin)) / 1000
    return took


def part_of(made: str) -> str:
    """The layer that a step is of, tests apart; "precompiled headers" and "links" are of none."""
    if made.endswith(".gch") or made.endswith(".pch"):
        return "precompiled headers"
    folder, found, target = made.partition("CMakeFiles/")
    if not found or not made.endswith(".o"):
        return "links and generated files"
    name = target.partition(".dir/")[0]
    if name.startswith(
        ("torchport_headers_", "torchport_treesitter", "torchport_fmt", "torchport_torch_fmt")
    ):
        return "libraries of others"
    layer = folder.strip("/").removeprefix("src/") or "."
    top = re.sub(r"^(source/[^/]+|runtime/[^/]+|[^/]+).*", r"\1", layer)
    return f"{top}, tests" if name.endswith("_test") else top


def main() -> int:
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release"
    try:
        took = steps(build)
    except OSError as error:
        print(f"build_times.py: {error.filename}: {error.strerror}; build first", file=sys.stderr)
        return 2
    sums: dict[str, list[float]] = defaultdict(list)
    for made, seconds in took.items():
        sums[part_of(made)].append(seconds)
    print("| part | steps | seconds | slowest step |\n|---|---:|---:|---:|")
    for part, each in sorted(sums.items(), key=lambda item: -sum(item[1])):
        print(f"| {part} | {len(each)} | {sum(each):.0f} | {max(each):.0f} |")
    print(f"| all | {len(took)} | {sum(took.values()):.0f} | {max(took.values()):.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
