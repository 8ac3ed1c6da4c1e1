"""Compares PyTorch's own database of operators on virtual devices with the CPU.

    run.py [--dtypes float32|all] [--only PATTERN] [--sample N] [--table FILE]

Each comparison runs in a worker process with a time limit; one that dies or hangs is a difference
like any other. What is known to differ stands in known.json; anything else, and anything that
stands there and is alike now, makes this program fail.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
LIMIT_S = 120.0
Task = tuple[str, str]
Table = dict[Task, list[str]]


class Worker:
    """A process that compares one operator after another; a new one after a crash."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.setdefault("TORCHPORT_VIRTUAL", "cuda:2,random=cpu")
        return subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def compare(self, task: Task) -> list[str]:
        if self.process is None:
            self.process = self._start()
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
            answer = self.process.stdout.readline() if ready else None
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        self.close(kill=True)
        return [f"time: over {LIMIT_S:.0f} s" if answer is None else "crash: the process died"]

    def close(self, kill: bool = False) -> None:
        if self.process is None:
            return
        if kill:
            self.process.kill()
        elif self.process.stdin:
            self.process.stdin.close()
        self.process.wait()
        self.process = None


def compare_all(tasks: Iterable[Task], workers: int, *, progress: bool = False) -> Table:
    todo: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        todo.put(task)
    table: Table = {}

    def work() -> None:
        worker = Worker()
        while True:
            try:
                task = todo.get_nowait()
            except queue.Empty:
                break
            table[task] = worker.compare(task)
            if progress and table[task]:
                print(*task, *table[task], sep="\n    ", flush=True)
        worker.close()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return table


def known() -> dict[Task, set[str]]:
    """What is known to differ: (operator, dtype) -> the sorts of differences."""
    result: dict[Task, set[str]] = {}
    for entry in json.loads((HERE / "known.json").read_text()):
        for dtype in entry["dtypes"]:
            result.setdefault((entry["op"], dtype), set()).update(entry["what"])
    return result


def sort_of(text: str) -> str:
    return text.split(":")[0]


def verdict(table: Table) -> list[str]:
    """What is wrong with a table, in words; nothing where it is as known."""
    listed = known()
    wrong = []
    for task, found in sorted(table.items()):
        expected = listed.get(task, set())
        wrong += [f"{task[0]} {task[1]}: {text}" for text in found if sort_of(text) not in expected]
        for what in sorted(expected - {sort_of(text) for text in found}):
            wrong.append(f"{task[0]} {task[1]}: {what}: alike now; take it out of known.json")
    return wrong


def chosen(arguments: argparse.Namespace) -> list[Task]:
    script = "import json, database, sys; print(json.dumps(database.tasks(sys.argv[1])))"
    environment = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    listing = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, arguments.dtypes],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    tasks = [(name, dtype) for name, dtype in json.loads(listing)]
    if arguments.only:
        tasks = [task for task in tasks if re.search(arguments.only, task[0])]
    if arguments.sample:
        tasks = random.Random(arguments.seed).sample(tasks, min(arguments.sample, len(tasks)))
    return tasks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtypes", default="all")
    parser.add_argument("--only", help="a pattern of operators' names")
    parser.add_argument("--sample", type=int, help="as many, drawn by chance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", type=Path, help="where to write all that was found, as JSON")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    arguments = parser.parse_args()
    table = compare_all(chosen(arguments), arguments.workers, progress=True)
    if arguments.table:
        rows = [
            {"op": op, "dtype": dtype, "differences": found}
            for (op, dtype), found in sorted(table.items())
        ]
        arguments.table.write_text(json.dumps(rows, indent=1) + "\n")
    wrong = verdict(table)
    alike = sum(not found for found in table.values())
    print(f"{len(table)} compared, {alike} alike, {len(table) - alike} differ")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
