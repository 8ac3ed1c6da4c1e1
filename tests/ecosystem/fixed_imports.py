#!/usr/bin/env python3
"""Proves on real packages that fixes break no module: what could be imported still can be.

    fixed_imports.py [--set NAME...] [--only PACKAGE...] [--jobs N] [--results FILE]

A package is copied, fixed with safe fixes and with all fixes, and every module of it is imported
before and after; what is not installed is stubbed. What torch.jit.script could compile before has to
give the same graph after, but for devices. Ends with 1 if something broke.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "common")]

import fetch  # noqa: E402
import fixed_names  # noqa: E402
import import_report  # noqa: E402
import import_trees  # noqa: E402
from import_compare import Break, Comparer  # noqa: E402
from import_plan import Server, make_plan  # noqa: E402

SETS = ["research", "unread", "later", "last"]


class Servers:
    """One server for each thread."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._own, self._all = folder, threading.local(), []

    def get(self) -> Server:
        if not hasattr(self._own, "server") or not self._own.server.is_alive():
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            self._own.server = Server(folder / "server")
            self._all.append(self._own.server)
        return self._own.server

    def close(self) -> None:
        for server in self._all:
            server.close()


def examine(package: Path, server: Server, into: Path) -> dict[str, Any]:
    trees = import_trees.make_trees(package, into)
    before = trees["before"]
    changed = {
        name: set(import_trees.changed_files(before, trees[name])) for name in import_trees.VARIANTS
    }
    plan = make_plan(server, before, set().union(*changed.values()))
    comparisons = {
        name: Comparer(server.ask, before, trees[name], plan, changed[name]).compare()
        for name in import_trees.VARIANTS
    }
    for name, result in comparisons.items():
        for line in fixed_names.complaints_of_fix(before, trees[name]):
            file, _, what = line.partition(": ")
            result.breaks.append(Break(file, f"names: {what}"))
    row = import_report.row_of(
        package.name, plan, comparisons, len(import_trees.modules_of(before))
    )
    for name, variant in row["variants"].items():
        for broken in variant["breaks"]:
            files = (broken["place"].rpartition(":")[0], broken["file"])
            file = next((file for file in files if file in changed[name]), broken["file"])
            broken["hunks"] = import_trees.hunks(before, trees[name], file)
    return row


def run(
    packages: list[Path], jobs: int, scratch: Path, results: Path | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of all packages, and what stopped those that have none."""
    servers, rows, failures = Servers(scratch), [], []

    def one(package: Path) -> tuple[dict[str, Any], float]:
        started = time.monotonic()
        into = Path(tempfile.mkdtemp(dir=scratch))
        try:
            return examine(package, servers.get(), into), time.monotonic() - started
        finally:
            shutil.rmtree(into, ignore_errors=True)

    with ThreadPoolExecutor(jobs) as pool:
        tasks = {pool.submit(one, package): package for package in packages}
        for task in as_completed(tasks):
            try:
                row, seconds = task.result()
            except Exception as error:
                failures.append(f"{tasks[task].name}: {type(error).__name__}: {error}")
                print(failures[-1], flush=True)
                continue
            rows.append(row)
            if results:
                results.write_text(json.dumps(rows, indent=1) + "\n")
            import_report.print_row(row, seconds)
    servers.close()
    return sorted(rows, key=lambda row: row["package"]), failures


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--only", nargs="+", metavar="PACKAGE")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument("--from", type=Path, dest="source", default=fetch.DEFAULT_TARGET)
    options = parser.parse_args(arguments)
    manifest = fetch.load_manifest()
    chosen = {p.folder: p for name in options.set for p in fetch.select(manifest, name)}
    if options.only:
        chosen = {folder: p for folder, p in chosen.items() if p.name in options.only}
    fetch.fetch(list(chosen.values()), options.source)
    with tempfile.TemporaryDirectory(prefix="torchport-imports-") as scratch:
        folders = [options.source / folder for folder in chosen]
        # The largest first, so that no process waits for one at the end.
        folders.sort(key=lambda folder: -sum(1 for _ in folder.rglob("*.py")))
        if options.results:
            options.results.parent.mkdir(parents=True, exist_ok=True)
        rows, failures = run(folders, options.jobs, Path(scratch), options.results)
    count = import_report.print_breaks(rows)
    import_report.print_total(rows)
    return 1 if count or failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
