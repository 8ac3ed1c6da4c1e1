"""Ends a program early that would run too long for a plan, and shortens its passes over its data.

`torchport plan` sets one of these variables for each of its options. The process ends at once: no
handler of the program runs, since it could compute on, or write a checkpoint of values that are not
there.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

STEPS = "TORCHPORT_PLAN_STEPS"  # of one optimizer
BATCHES = "TORCHPORT_PLAN_BATCHES"  # of each pass over a DataLoader
SECONDS = "TORCHPORT_PLAN_SECONDS"  # since a device was first used

OFTEN = 0.2  # seconds between two looks at whether a device is used


class Ending:
    """Counts the steps, and ends this process when it is time to."""

    def __init__(self, torch: ModuleType, write: Callable[[], None]) -> None:
        self.torch = torch
        self.write = write
        self.why = ""
        self._taken: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._most_steps = _setting(STEPS)
        self.batches = _setting(BATCHES)
        if self.batches:
            _shorten(torch.utils.data.DataLoader, self.batches)
        if seconds := _setting(SECONDS):
            threading.Thread(target=self._wait, args=(seconds,), daemon=True).start()

    @property
    def steps(self) -> int:
        """How many steps the optimizer took that took most."""
        return max(self._taken.values(), default=0)

    def before_step(self, optimizer: Any) -> None:
        # Not after the last step: what leads to the next one is the first that has the states of all
        # optimizers, and their gradients.
        if self._most_steps and self._taken.get(optimizer, 0) >= self._most_steps:
            self._end("steps")

    def after_step(self, optimizer: Any) -> None:
        self._taken[optimizer] = self._taken.get(optimizer, 0) + 1

    def _wait(self, seconds: int) -> None:
        while not self._uses_a_device():
            time.sleep(OFTEN)  # a launcher of ranks uses none, and must outlive them
        time.sleep(seconds)
        self._end("seconds")

    def _uses_a_device(self) -> bool:
        native = self.torch._ops.ops.torchport
        stats = [json.loads(native.memory_stats(i)) for i in range(native.device_count())]
        return any(one["allocated_bytes"]["all"]["peak"] for one in stats)

    def _end(self, why: str) -> None:
        self.why = why
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.write()
        for worker in multiprocessing.active_children():
            if worker.daemon:  # of a DataLoader; the interpreter would end them
                worker.terminate()
        os._exit(0)


def _setting(name: str) -> int:
    return int(os.environ.get(name, "0"))


def _shorten(loader: Any, most: int) -> None:
    """Lets each pass over a DataLoader have at most this many batches; its length tells the same."""
    begin, length = loader.__iter__, loader.__len__

    def __iter__(self: Any) -> Iterator[Any]:
        return itertools.islice(begin(self), most)

    def __len__(self: Any) -> int:
        return min(int(length(self)), most)

    loader.__iter__, loader.__len__ = __iter__, __len__
