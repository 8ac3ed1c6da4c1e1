#!/usr/bin/env python3
"""Records how this machine's CUDA device behaves: errors, answers, memory, random numbers, ...

    python3 record.py                 writes DEVICE-RELEASE.json beside this file
    python3 record.py --compare A B   compares two recordings

It needs a GPU, torch 2.9 or newer, and Python 3.10 or newer. Ctrl-C leaves what is answered; the
next start goes on there. The files in questions/ are what is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
SECONDS_BETWEEN_WRITES = 10.0


def words(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="KIND",
        help="only these kinds of questions (errors), or groups of them (errors/shapes)",
    )
    parser.add_argument(
        "--names", nargs="+", default=[], metavar="TEXT", help="only questions with such a name"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there instead")
    parser.add_argument(
        "--fresh", action="store_true", help="ask all again, also what the file has answers for"
    )
    parser.add_argument("--list", action="store_true", help="print the groups of questions")
    parser.add_argument(
        "--slower",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="multiply every limit of time, for a slow machine",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="ask in so many processes at once; each holds half a gigabyte of the device",
    )
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--questions", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"))
    return parser.parse_args(arguments)


def compare(paths: list[Path]) -> int:
    """Prints a table and each difference; 1 if there is one."""
    from recorder import comparison

    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    if first["made"]["hash"] != second["made"]["hash"]:
        print("The two were made by different versions of this program.", file=sys.stderr)
    result = comparison.compare(first, second)
    for difference in result.differences:
        print(difference.text())
    print("\n".join(result.table()))
    return 1 if result.differences else 0


def is_continuation(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the old recording is of the same device, torch and program, so that it can go on."""
    same_program = old.get("made", {}).get("hash") == new["made"]["hash"]
    keys = ("device", "virtual")
    return same_program and all(old.get(key) == new[key] for key in keys)


class Recording:
    """The file that is written, while questions are asked."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        from recorder.driving import Answers

        self.path, self.head, self.written = path, head, time.monotonic()
        self.answers = Answers(changed=self.changed)

    def go_on(self) -> int:
        """Takes the answers of an interrupted recording; how many."""
        if not self.path.exists():
            return 0
        old = json.loads(self.path.read_text(encoding="utf-8"))
        if not is_continuation(old, self.head):
            return 0
        self.answers.found = old["answers"]
        return sum(counts(self.answers.found).values())

    def changed(self) -> None:
        if time.monotonic() - self.written > SECONDS_BETWEEN_WRITES:
            self.write(complete=False)

    def write(self, *, complete: bool) -> None:
        from recorder.driving import write_json

        write_json(self.path, self.head | {"complete": complete, "answers": self.answers.found})
        self.written = time.monotonic()


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {kind: sum(map(len, groups.values())) for kind, groups in found.items()}


def record(options: argparse.Namespace) -> int:
    try:
        import torch
    except ImportError:
        print("record.py: torch is not installed for this Python: pip install torch")
        return 2
    from recorder import driving, facts, registry

    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 9):
        print(f"record.py: torch {torch.__version__} is too old; 2.9 is the first that it asks")
        return 2
    folder = options.questions or registry.QUESTIONS
    try:
        groups = registry.chosen(
            registry.load(folder), options.only, options.names, part_of(options.part)
        )
    except ValueError as error:
        print(f"record.py: {error}")
        return 2
    if options.list:
        for path, group in groups.items():
            more = " and more that are found when it is asked" if group.generators else ""
            print(f"{path}: {len(group.listed)} questions{more}")
        return 0
    if not driving.ask_child(torch.cuda.is_available):
        print("record.py: torch sees no CUDA device. `nvidia-smi` shows whether the driver does.")
        return 2
    virtual = facts.is_virtual()
    if virtual and not options.only:
        groups = {path: group for path, group in groups.items() if not group.heavy}
    device = driving.ask_child(facts.device_facts)
    name = ("virtual-" if virtual else "") + facts.file_name(device)
    whole = not (options.only or options.names or options.questions)
    path = options.output or (Path("build/fidelity") if virtual else HERE) / name
    head = {"made": facts.made(), "virtual": virtual, "whole": whole, "device": device}
    recording = Recording(path, head)
    kept = 0 if options.fresh else recording.go_on()
    print(f"{device['name']}, torch {device['torch']}{', a virtual device' if virtual else ''}")
    if kept:
        print(f"{kept} answers are in {path} already; --fresh asks them again")
    if options.jobs > 1 and not ask_in_parts(recording, options):
        return 130
    return ask_all(recording, groups, options.slower)


def part_of(text: str | None) -> tuple[int, int] | None:
    """ "2/8" as numbers."""
    if text is None:
        return None
    index, _, count = text.partition("/")
    return int(index), int(count)


def ask_in_parts(recording: Recording, options: argparse.Namespace) -> bool:
    """Starts this program once for each part of the questions that need no device for themselves, and
    takes their answers. What a part has not answered is asked afterwards. False if interrupted."""
    complete = True
    recording.write(complete=False)
    with tempfile.TemporaryDirectory() as folder:
        parts, running = [], []
        for index in range(options.jobs):
            output = Path(folder) / f"{index}.json"
            shutil.copy(recording.path, output)  # what is answered is not asked again
            command = [sys.executable, __file__, "--output", output, "--slower", options.slower]
            command += ["--part", f"{index}/{options.jobs}"]
            command += ["--only", *options.only] if options.only else []
            command += ["--names", *options.names] if options.names else []
            command += ["--questions", options.questions] if options.questions else []
            parts.append(output)
            running.append(subprocess.Popen([str(word) for word in command]))
        try:
            for process in running:
                process.wait()
        except KeyboardInterrupt:
            complete = False
            for process in running:
                process.wait()
        for path in filter(Path.exists, parts):
            for kind, answered in json.loads(path.read_text(encoding="utf-8"))["answers"].items():
                for group, answers in answered.items():
                    recording.answers.found.setdefault(kind, {}).setdefault(group, {}).update(
                        answers
                    )
    recording.write(complete=False)
    return complete


def ask_all(recording: Recording, groups: dict[str, Any], slower: float) -> int:
    from recorder import driving

    complete = False
    started = time.monotonic()
    try:
        for path, group in groups.items():
            begun = time.monotonic()
            driving.ask_group(group, recording.answers, slower=slower)
            answers = recording.answers.of(group).values()
            lost = sum("crashed" in one for one in answers)
            told = f"{len(answers)} answers" + (f", {lost} crashed" if lost else "")
            print(f"{path:<28} {told:<26} {time.monotonic() - begun:6.1f} s", flush=True)
        complete = True
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on where it stopped.")
    recording.write(complete=complete)
    kinds = ", ".join(f"{kind} {n}" for kind, n in counts(recording.answers.found).items())
    print(f"{recording.path}: {kinds}; {time.monotonic() - started:.0f} s")
    return 0 if complete else 130


def main(arguments: list[str]) -> int:
    options = words(arguments)
    if options.compare:
        return compare(options.compare)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    return record(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
