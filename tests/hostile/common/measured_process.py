"""A process, with the time and the peak of memory that it took.

A child process begins with the peak of memory of its parent, and a pytest that has run many tests is large.
So a small Python is between them: this file, as a program: measured_process.py RESULT COMMAND...
"""

from __future__ import annotations

import os
import sys
from typing import IO, Any, NamedTuple


class Measured(NamedTuple):
    returncode: int
    cpu: float  # seconds
    peak_mb: float


def run(words: list[object], *, out: IO[Any], err: IO[Any], **options: Any) -> Measured:
    """The ended process, which gets no input. `options` are those of subprocess.run."""
    import subprocess
    import tempfile

    with tempfile.NamedTemporaryFile("r") as result:
        command = apart(words, result.name)
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False, **options
        )
        status, cpu, peak = result.read().split()
    return Measured(os.waitstatus_to_exitcode(int(status)), float(cpu), float(peak))


def apart(words: list[Any], result: str = os.devnull) -> list[str]:
    """The command that runs this one as a child of a small process, for one that measures itself."""
    return [sys.executable, "-I", "-S", __file__, result, *map(str, words)]


def main() -> None:
    result, program = sys.argv[1], sys.argv[2]
    process = os.posix_spawnp(program, sys.argv[2:], os.environ)
    _, status, usage = os.wait4(process, 0)
    with open(result, "w") as file:
        file.write(f"{status} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss / 1024}")
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


if __name__ == "__main__":
    main()
