#!/usr/bin/env python3
"""Runs a build, and says in one line how far it is and what it waits for.

    deps/progress.py [--every SECONDS] COMMAND...

Of ninja's lines `[12/474] Building CXX object ...` a terminal shows the latest, with the time that is left;
anything else gets such a line every 30 seconds rather than hundreds. All other lines, those of compilers and
of a command that failed among them, are printed as they come. The exit status is the command's.
"""

from __future__ import annotations

import argparse
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from typing import TextIO

STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")
# Folders and endings of what ninja makes, which say nothing to a person.
NOISE = re.compile(r"CMakeFiles/|\.dir\b|_cxx\.cxx\.o$|\.o$|(?<=/)Unity/")
# A rate that is known only from a few steps is none.
FEW_SECONDS = 20


def spoken(seconds: float) -> str:
    """`40 s` or `7 min`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class Progress:
    """What is known of the build, and when it was told last."""

    def __init__(self, out: TextIO, every: float):
        self.out, self.every = out, every
        self.is_terminal = out.isatty()
        self.started = self.told = time.monotonic()
        self.done = self.steps = 0
        self.what = ""

    def line(self) -> str:
        took = time.monotonic() - self.started
        share = self.done / self.steps
        rest = ""
        if took >= FEW_SECONDS and self.done:
            rest = f", about {spoken(took / share - took)} left"
        what = NOISE.sub("", self.what.replace("object ", "").replace("executable ", ""))
        return f"   {self.done} of {self.steps} ({share:.0%}), {spoken(took)}{rest}: {what}"

    def step(self, done: int, steps: int, what: str) -> None:
        if not self.steps and steps > 1:
            self.write(f"== compiling: {steps} steps\n")
        self.done, self.steps, self.what = done, steps, what
        self.tell()

    def tell(self, now: bool = False) -> None:
        """Shows the line, unless it is too early for the next."""
        if not self.steps:
            return
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self.write(f"\r{self.line()[:width]}\x1b[K")
        elif now or time.monotonic() - self.told >= self.every:
            self.told = time.monotonic()
            self.write(self.line() + "\n")

    def other(self, line: str) -> None:
        """A line that is not ninja's count."""
        self.write(f"\r\x1b[K{line}" if self.is_terminal else line)

    def end(self) -> None:
        if self.steps > 1:
            took = spoken(time.monotonic() - self.started)
            self.other(f"== compiled: {self.done} of {self.steps} steps in {took}\n")
        elif self.is_terminal:
            self.write("\r\x1b[K")

    def write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


def run(command: list[str], progress: Progress) -> int:
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert child.stdout is not None
    lines: queue.Queue[bytes | None] = queue.Queue()
    pipe = child.stdout

    def read() -> None:
        for line in pipe:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=1)
        except queue.Empty:
            progress.tell()  # a long step, too, is told of
            continue
        if line is None:
            break
        text = line.decode(errors="replace")
        if found := STEP.match(text):
            progress.step(int(found[1]), int(found[2]), found[3].strip())
        elif text.strip() != "ninja: no work to do.":
            progress.other(text)
    status = child.wait()
    progress.end()
    return status if status >= 0 else 128 - status


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=float, default=30, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(words)
    try:
        return run(options.command, Progress(sys.stdout, options.every))
    except KeyboardInterrupt:  # the build got it, too
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
