"""Measures how fast torchport checks a real tree, against other tools on it: `make bench`.

Every figure is a ratio of two commands that ran in turn (A B A B ...) in this run, because machines
differ and drift but ratios hold. Times are medians of the wall time of whole processes; memory is
the peak of the largest process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TORCHPORT = BIN / "torchport"
RAW_PARSE = ROOT / "build/release/bin/raw_parse"
THREADS = os.cpu_count() or 1


class Command:
    """A command line, with what it must be given on standard input."""

    def __init__(self, name: str, words: list, stdin: str | None = None, before=None):
        self.name, self.words, self.stdin, self.before = (
            name,
            [str(w) for w in words],
            stdin,
            before,
        )

    def seconds(self) -> float:
        if self.before:
            self.before()
        start = time.perf_counter()
        run = subprocess.run(
            self.words,
            input=self.stdin,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        took = time.perf_counter() - start
        if run.returncode not in (0, 1):
            raise SystemExit(
                f"{self.name} ended with {run.returncode}: {' '.join(self.words[:6])} ..."
            )
        return took


def in_turn(a: Command, b: Command, runs: int) -> tuple[float, float, float]:
    """Medians of a and b, and the median of a/b over the pairs; one warm-up each."""
    a.seconds(), b.seconds()
    pairs = [(a.seconds(), b.seconds()) for _ in range(runs)]
    return (
        statistics.median(x for x, _ in pairs),
        statistics.median(y for _, y in pairs),
        statistics.median(x / y for x, y in pairs),
    )


def peak_megabytes(words: list) -> float:
    """Peak memory of one run, measured in a process of its own."""
    code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL);print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=True
    )
    return int(run.stdout) / 1024


def bench_tree() -> list[Path]:
    listing = subprocess.run(
        [sys.executable, ROOT / "tests/ecosystem/fetch.py", "--set", "bench", "--paths"],
        check=True,
        capture_output=True,
        text=True,
    )
    return [Path(line) for line in listing.stdout.split("\n") if line]


def check(*paths: object, cache: bool = False, threads: int = THREADS) -> list:
    words = [TORCHPORT, "check", "--quiet", "--no-gitignore", "--statistics", "-j", threads]
    return words + ([] if cache else ["--no-cache"]) + list(paths)


class Table:
    def __init__(self):
        self.rows: list[dict] = []

    def add(
        self,
        what: str,
        ours: float,
        theirs: float | None,
        ratio: float | None,
        bound: str = "",
        ok: bool | None = None,
    ):
        self.rows.append(
            {
                "what": what,
                "torchport_s": ours,
                "other_s": theirs,
                "ratio": ratio,
                "bound": bound,
                "ok": ok,
            }
        )
        other = "" if theirs is None else f"{theirs:8.3f} s"
        share = "" if ratio is None else f"{ratio:8.3f}"
        verdict = "" if ok is None else ("  reached" if ok else "  MISSED")
        print(f"{what:<58} {ours:8.3f} s {other:>10} {share:>9}  {bound}{verdict}", flush=True)


def linear_in_files(table: Table, folders: list[Path]) -> None:
    files = sorted(str(p) for folder in folders for p in folder.rglob("*.py"))
    small, large = files[: len(files) // 4 * 4 : 4], files
    size = [sum(os.path.getsize(f) for f in part) for part in (small, large)]
    with tempfile.TemporaryDirectory() as folder:
        trees = []
        for name, part in (("quarter", small), ("whole", large)):
            for i, path in enumerate(part):
                target = Path(folder) / name / str(i % 50) / f"{i}.py"
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, target) if os.stat(path).st_dev == os.stat(
                    folder
                ).st_dev else shutil.copy(path, target)
            trees.append(Path(folder) / name)
        a, b, ratio = in_turn(
            Command("whole", check(trees[1])), Command("quarter", check(trees[0])), 3
        )
    expected = size[1] / size[0]
    table.add(
        f"whole tree against every 4th file ({expected:.2f} times the bytes)",
        a,
        b,
        ratio,
        f"<= {expected * 1.3:.2f}",
        ratio <= expected * 1.3,
    )


def linear_in_size(table: Table) -> None:
    unit = (ROOT / "examples/legacy/train.py").read_text()
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for times in (16, 64):
            path = Path(folder) / f"x{times}.py"
            # Each copy in a function of its own, so that names stay local.
            body = "\n".join(
                "    " + line if line.strip() else ""
                for line in unit.splitlines()
                if not line.startswith(("from __future__",))
            )
            path.write_text("".join(f"def part_{i}():\n{body}\n\n" for i in range(times)))
            paths.append(path)
        a, b, ratio = in_turn(
            Command("large", check(paths[1], threads=1)),
            Command("small", check(paths[0], threads=1)),
            5,
        )
    table.add("one file, four times as long, full of findings", a, b, ratio, "<= 5.2", ratio <= 5.2)


def one_changed_file(table: Table, folders: list[Path], runs: int) -> None:
    """Warm, after a function that moves a model was added to one file of the tree."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as copy:
        os.environ["TORCHPORT_CACHE_DIR"] = cache
        tree = [Path(shutil.copytree(folder, Path(copy) / folder.name)) for folder in folders]
        warm = Command("warm", check(*tree, cache=True))
        changed = next(path for folder in tree for path in sorted(folder.rglob("trainer.py")))
        text = changed.read_text()
        warm.seconds()
        times: dict[str, list[float]] = {"warm": [], "changed": []}
        for i in range(runs):
            times["warm"].append(warm.seconds())
            changed.write_text(f"{text}\n\ndef move_{i}(model):\n    return model.cuda()\n")
            times["changed"].append(warm.seconds())
        a, b = statistics.median(times["changed"]), statistics.median(times["warm"])
        table.add("one changed file, against warm", a, b, a / b, "<= 0.2 s", a <= 0.2)


def fix_writes(table: Table, runs: int) -> None:
    """How long the writing of 500 files takes, beyond the computing of what is written."""
    unit = (ROOT / "examples/legacy/losses.py").read_text()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        project = Path(folder)

        def start_again() -> None:
            shutil.rmtree(project / ".torchport", ignore_errors=True)
            for i in range(500):
                path = project / f"p{i % 20}" / f"m{i}.py"
                path.parent.mkdir(exist_ok=True)
                path.write_text(unit)

        words = [TORCHPORT, "fix", "--quiet", "--no-gitignore", "--allow-dirty", "--unsafe-fixes"]
        writes = Command("fix", [*words, project], before=start_again)
        shows = Command("fix --diff", [*words, "--diff", project], before=start_again)
        a, b, ratio = in_turn(writes, shows, runs)
    table.add("fix writes 500 files, against fix --diff", a, b, ratio, "<= 2 s", a <= 2)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args()
    folders = bench_tree()
    files = sorted(str(p) for folder in folders for p in folder.rglob("*.py"))
    size = sum(os.path.getsize(f) for f in files)
    print(f"{len(files)} Python files, {size / 1e6:.1f} MB, {THREADS} threads\n")
    print(f"{'':<58} {'torchport':>10} {'other':>10} {'ratio':>9}")
    table = Table()
    ours = Command("torchport", check(*folders))
    listing = "\n".join(files)

    a, b, r = in_turn(ours, Command("raw parse", [RAW_PARSE, THREADS], stdin=listing), options.runs)
    table.add("cold, against tree-sitter's bare parse of the tree", a, b, r, "<= 1.15", r <= 1.15)
    a, b, r = in_turn(
        ours,
        Command(
            "ruff",
            [
                BIN / "ruff",
                "check",
                "--isolated",
                "--no-cache",
                "--no-respect-gitignore",
                "-q",
                "--select",
                "F,E9",
                *folders,
            ],
        ),
        options.runs,
    )
    table.add("cold, against ruff check --select F,E9 --no-cache", a, b, r)
    a, b, r = in_turn(
        ours,
        Command("ripgrep", ["rg", "-c", "--no-ignore", "-tpy", r"\.cuda\(|[\x22']cuda", *folders]),
        options.runs,
    )
    table.add('cold, against ripgrep for `.cuda(` and "cuda"', a, b, r)

    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHPORT_CACHE_DIR"] = cache
        warm = Command("warm", check(*folders, cache=True))
        a, b, r = in_turn(warm, ours, options.runs)
        table.add(f"warm, against cold ({len(files)} files)", a, b, r, "<= 0.1 s", a <= 0.1)
    one_changed_file(table, folders, options.runs)

    # Every 24th file of the tree: TorchFix takes minutes for the whole of it.
    with tempfile.TemporaryDirectory() as folder:
        for i, path in enumerate(files[::24]):
            shutil.copy(path, Path(folder) / f"f{i}.py")
        sample = sum(os.path.getsize(f) for f in files[::24])
        torchfix = Command("TorchFix", [BIN / "torchfix", "--select", "ALL", folder])
        a, b = Command("torchport", check(folder)).seconds(), torchfix.seconds()
        a = statistics.median(
            Command("torchport", check(folder)).seconds() for _ in range(options.runs)
        )
        table.add(
            f"every 24th file ({sample / 1e6:.1f} MB): TorchFix takes ... times as long",
            a,
            b,
            b / a,
            ">= 500",
            b / a >= 500,
        )

    linear_in_files(table, folders)
    linear_in_size(table)
    fix_writes(table, options.runs)
    memory = peak_megabytes(check(*folders))
    print(
        f"{'peak memory, cold':<58} {memory:8.1f} MB {'':>20}  <= 300 MB{'  reached' if memory <= 300 else '  MISSED'}"
    )
    version = Command("version", [TORCHPORT, "--version"])
    took = statistics.median(version.seconds() for _ in range(20))
    print(
        f"{'torchport --version':<58} {took * 1000:8.1f} ms {'':>20}  <= 10 ms{'  reached' if took <= 0.010 else '  MISSED'}"
    )
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "files": len(files),
                    "bytes": size,
                    "rows": table.rows,
                    "peak_mb": memory,
                    "version_s": took,
                },
                indent=1,
            )
            + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
