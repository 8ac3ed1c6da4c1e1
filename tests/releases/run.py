"""Tests the wheel beside the releases of torch: `make test-releases`.

    run.py [--wheel FILE] [--cache FOLDER] [--python PYTHON] [--parts PART,...] [--no-record]
           [RELEASE...]

Without RELEASE, all that the wheel has libraries for. The parts:

    commands    every command, the pytest plugin, and a training run with the losses of the CPU
    programs    tests/virtual, the CUDA programs
    operators   PyTorch's own database of operators in float32 (tests/conformance)

Results are kept in results.json, from which docs/releases.md has its table, unless --no-record is given. Of the operators, those may
differ that differed when results.json was committed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import environments
from environments import ROOT, Environment

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs/releases.md"
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"
PARTS = ("commands", "programs", "operators")
Row = dict[str, Any]


def releases() -> list[str]:
    """What the table of releases has libraries for, the newest first."""
    table = json.loads((ROOT / "python/torchport/torch_releases.json").read_text())
    return [row["runtime"]["built_for"] for row in table["releases"] if row["runtime"]]


def run(environment: Environment, *words: object, log: Path) -> str:
    """The output of a program of the environment, which also goes into `log`."""
    settings = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    settings["PATH"] = f"{environment.python.parent}{os.pathsep}{settings['PATH']}"
    command = [str(word) for word in (environment.python, *words)]
    with log.open("w") as file:
        subprocess.run(
            command, cwd=ROOT, env=settings, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return log.read_text(errors="replace")


def tested(environment: Environment, log: Path, *words: object) -> Row:
    """How many tests passed and which failed."""
    options = ["-q", "-p", "no:cacheprovider", "-n", os.cpu_count() or 1, "--dist", "loadfile"]
    output = run(environment, "-m", "pytest", *words, *options, log=log)
    count = {
        word: int(number)
        for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", output)
    }
    failed = sorted(set(re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)))
    if not count.get("passed") or count.get("error"):
        failed.append(f"pytest did not run to its end, see {log}")
    return {"passed": count.get("passed", 0), "failed": failed}


def compared(environment: Environment, log: Path) -> Row:
    """How many operators are alike and which differ."""
    table = log.with_suffix(".json")
    table.unlink(missing_ok=True)
    words = ["--dtypes", "float32", "--workers", os.cpu_count() or 1, "--table", table]
    run(environment, ROOT / "tests/conformance/run.py", *words, log=log)
    if not table.exists():
        return {"alike": 0, "differ": [f"the comparison did not run to its end, see {log}"]}
    rows = json.loads(table.read_text())
    differ = sorted(row["op"] for row in rows if row["differences"])
    return {"alike": len(rows) - len(differ), "differ": differ}


def commit() -> str:
    """The state of the checkout, "1a2b3c4"."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def test(environment: Environment, parts: list[str], logs: Path) -> Row:
    run_part: dict[str, Callable[[Path], Row]] = {
        "commands": lambda log: tested(environment, log, HERE / "commands.py"),
        "programs": lambda log: tested(environment, log, ROOT / "tests/virtual"),
        "operators": lambda log: compared(environment, log),
    }
    row: Row = {"build": environment.build, "python": environment.python_version}
    for part in parts:
        started = time.monotonic()
        row[part] = run_part[part](logs / f"{part}.log")
        row[part]["minutes"] = round((time.monotonic() - started) / 60, 1)
        row[part]["commit"] = commit()
    return row


def wrong_in(row: Row, known: Row) -> list[str]:
    """What is not as it should be, in words."""
    wrong = [
        f"torch {row['build']}: {name}"
        for part in ("commands", "programs")
        for name in row.get(part, {}).get("failed", [])
    ]
    if "operators" in row:
        accepted = set(known.get("operators", {}).get("differ", row["operators"]["differ"]))
        differ = set(row["operators"]["differ"])
        wrong += [
            f"torch {row['build']}: {name} differs from the CPU"
            for name in sorted(differ - accepted)
        ]
    return wrong


def cells(row: Row) -> list[str]:
    def of_tests(part: str) -> str:
        if part not in row:
            return "not run"
        failed = len(row[part]["failed"])
        return f"{row[part]['passed']} pass" + (f", {failed} fail" if failed else "")

    operators = row.get("operators")
    alike = "not run"
    if operators:
        alike = f"{operators['alike']} of {operators['alike'] + len(operators['differ'])}"
    run = [row[part] for part in PARTS if part in row]
    commits = dict.fromkeys(part["commit"] for part in run if "commit" in part)
    time = f"{sum(part['minutes'] for part in run):.0f} min"
    return [of_tests("commands"), of_tests("programs"), alike, time, ", ".join(commits)]


def write_page(results: dict[str, Row]) -> None:
    lines = [
        "| torch | build | Python | commands | CUDA programs | operators alike, float32 | time | commit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in results.values():
        release, _, build = row["build"].partition("+")
        words = [release, build or "cpu", row["python"], *cells(row)]
        lines.append(f"| {' | '.join(words)} |")
    page = PAGE.read_text()
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


def newest_first(results: dict[str, Row]) -> dict[str, Row]:
    def key(name: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", name)]

    return {name: results[name] for name in sorted(results, key=key, reverse=True)}


def default_wheel() -> Path:
    wheels = sorted((ROOT / "dist").glob("torchport-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        sys.exit("run.py: there is no wheel in dist/; make one: make wheel")
    return wheels[-1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--cache", type=Path, default=ROOT / "build/releases")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--no-record", action="store_true")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(
            f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}"
        )
    wheel = options.wheel or default_wheel()
    options.cache.mkdir(parents=True, exist_ok=True)
    results: dict[str, Row] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    wrong = []
    for release in options.releases or releases():
        environment = environments.make(release, options.cache.resolve(), options.python)
        environments.install(environment, wheel)
        logs = environment.folder.parent
        row = test(environment, parts, logs)
        known = results.get(environment.name, {})
        wrong += wrong_in(row, known)
        print(f"torch {row['build']}, Python {row['python']}: {', '.join(cells(row))}", flush=True)
        if options.no_record:
            continue
        # A part that was not run keeps what it had before.
        results[environment.name] = known | row
        RESULTS.write_text(json.dumps(newest_first(results), indent=1) + "\n")
        write_page(newest_first(results))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
