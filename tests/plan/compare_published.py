"""Compares devices without data with memory that others measured and published (published.toml).

    python tests/plan/compare_published.py --packages FOLDER:FOLDER [--only PART] [--write docs/plan.md]

FOLDER has the packages of deps/plan.txt, after those of deps/plan-published.txt. A figure of a whole process is
compared with the reserved memory and the intervals that torchport plan adds, or with the context that the source
measured itself.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare import HERE, MIB, planned, write_between

BEGIN, END = "<!-- published: written by make test-plan-published -->", "<!-- end of published -->"
UNITS = {"GiB": 1 << 30, "MiB": MIB, "GB": 10**9}
FIGURES = {
    "allocated": "`max_memory_allocated`",
    "reserved": "`max_memory_reserved`",
    "process": "the process",
}


def plan_of(point: dict, source: dict, packages: str) -> dict | str:
    """The figures of a point without the device, or why there are none."""
    ranks = ("--ranks", point["ranks"]) if "ranks" in point else ()
    options = ("--profile", source["profile"], *ranks)
    arguments = point["arguments"].split()
    return planned(point["program"], arguments, packages, options, source.get("environment"))


def compared(point: dict, source: dict, plan: dict | str) -> tuple[str, float | None]:
    """A line of the table, and the error: of an interval that of its nearer end, 0 within it."""
    unit = UNITS[source["unit"]]
    measured = point["measured"] * unit
    digits = {"GiB": 3, "GB": 1, "MiB": 0}[source["unit"]]
    ranks = f" on {point['ranks']} ranks" if "ranks" in point else ""
    words = f"`{' '.join([point['program'], *point['arguments'].split()])}`{ranks}"
    shown = f"{point['measured']:.{digits}f}"
    if isinstance(plan, str):
        return f"| {words} | {source['device']} | {shown} {source['unit']} | {plan} | |", None
    if source["figure"] != "process":
        found = [plan[source["figure"]]]
    elif "context" in source:
        found = [plan["reserved"] + source["context"] * MIB]
    else:
        found = [
            plan["reserved"] + sum(part[end] for part in plan["parts"]) for end in ("least", "most")
        ]
    text = " to ".join(f"{one / unit:.{digits}f}" for one in found)
    is_within = found[0] <= measured <= found[-1]
    nearer = min(found, key=lambda one: abs(one - measured))
    error = 0.0 if is_within and len(found) > 1 else nearer / measured - 1
    line = f"| {words} | {source['device'].split(' (')[0]} | {shown} {source['unit']} | {text} | {error:+.2%} |"
    return line, error


def summary(name: str, source: dict, errors: list[float | None]) -> str:
    known = [error for error in errors if error is not None]
    if not known:
        return ""
    within = [sum(abs(error) <= limit for error in known) for limit in (0.005, 0.02)]
    return (
        f"- {name}, {FIGURES[source['figure']]}: {len(known)} of {len(errors)} planned, {within[0]} within 0.5 %, {within[1]} within 2 %, "
        f"{min(known):+.2%} to {max(known):+.2%}."
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--at-once", type=int, default=2, metavar="N")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    told = tomllib.loads((HERE / "published.toml").read_text())
    points = [
        one for one in told["points"] if options.only in f"{one['source']} {one['arguments']}"
    ]
    lines, errors = [], {name: [] for name in told["sources"]}
    with ThreadPoolExecutor(options.at_once) as pool:
        running = [(one, told["sources"][one["source"]]) for one in points]
        plans = pool.map(lambda pair: plan_of(*pair, options.packages), running)
        for (point, source), plan in zip(running, plans, strict=True):
            line, error = compared(point, source, plan)
            print(line, flush=True)
            lines.append(line)
            errors[point["source"]].append(error)
    text = "| program | device | published | planned | |\n| --- | --- | ---: | ---: | ---: |\n"
    text += "\n".join(lines) + "\n\n"
    text += "\n".join(summary(name, told["sources"][name], found) for name, found in errors.items())
    print(text)
    if options.write:
        write_between(options.write, BEGIN, END, text)
    return 1 if any(error is None for found in errors.values() for error in found) else 0


if __name__ == "__main__":
    sys.exit(main())
