"""Starts worker processes and exchanges messages with them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from typing import Any

# This variable is set in workers. They import the program, which must not start a benchmark again.
WORKER = "TORCHPORT_BENCH_WORKER"

# As `python -m` of the worker's module, but without the current folder on the path, which may have files
# of the names of Python's own modules. A module of the folder that is named is found all the same.
_START = (
    "import sys\n"
    "if sys.path[:1] == ['']: del sys.path[0]\n"
    "import runpy\n"
    "runpy._run_module_as_main('torchport.deploy.bench.worker')"
)


class WorkerFailed(RuntimeError):
    """A worker failed to run its mode; the message is its last output."""


class WorkerSkipped(RuntimeError):
    """The mode does not apply to this model or this machine; the message says why."""


class Worker:
    """One worker process. `close` ends it and the processes that it started. A context manager."""

    def __init__(self, spec: dict[str, Any], settings: dict[str, str], timeout: float) -> None:
        self._timeout = timeout
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | settings | {WORKER: "1"},
            text=True,
            start_new_session=True,  # so that its compilers can be ended with it
        )
        assert (
            self._process.stdin is not None and self._process.stdout is not None
        )  # they are pipes
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self.peak = 0
        self.reserved = 0
        self.rounds: list[list[float]] = []

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self) -> dict[str, Any]:
        """Waits for the next answer. Raises WorkerFailed if the worker ends or takes too long."""
        ready, _, _ = select.select([self._answers], [], [], self._timeout)
        line = self._answers.readline() if ready else ""
        if not line:
            raise WorkerFailed(
                self._last_words()
                if ready
                else f"the process did not answer within {self._timeout:g} s; give a larger timeout"
            )
        said: dict[str, Any] = json.loads(line)
        if "failed" in said:
            raise WorkerFailed(said["failed"])
        if "skipped" in said:
            raise WorkerSkipped(said["skipped"])
        return said

    def run(self, steps: int) -> list[float]:
        """Runs one more round of ``steps`` steps and returns the seconds of each step."""
        try:
            self._requests.write(json.dumps({"run": steps}) + "\n")
            self._requests.flush()
        except BrokenPipeError:
            raise WorkerFailed(self._last_words()) from None
        said = self.answer()
        self.peak = max(self.peak, said["peak"])
        self.reserved = max(self.reserved, said.get("reserved", 0))
        return list(said["seconds"])

    def keep(self, seconds: list[float]) -> None:
        self.rounds.append(seconds)

    def close(self) -> None:
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def _last_words(self) -> str:
        status = self._process.wait(10)
        self._log.seek(0)
        lines = [line.strip() for line in self._log if line.strip()]
        if status < 0:
            name = signal.Signals(-status).name
            hint = (
                "; the memory of this machine was perhaps used up"
                if status == -signal.SIGKILL
                else ""
            )
            return f"the process was ended by {name}{hint}"
        return lines[-1] if lines else f"the process ended with exit code {status}"
