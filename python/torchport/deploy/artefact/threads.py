"""Watches what a model does in other threads: a mode of torch is for one thread alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import thread as pools
from contextlib import contextmanager
from typing import Any

from torch.overrides import TorchFunctionMode


@contextmanager
def in_other_threads(mode: Callable[[], TorchFunctionMode]) -> Iterator[None]:
    """Threads that start in the block, and calls that it gives to a ThreadPoolExecutor, run within a ``mode()`` of
    their own.
    """
    started = {id(thread) for thread in threading.enumerate()}
    work = pools._WorkItem
    run_thread, run_work = threading.Thread.run, work.run

    def watched_thread(self: threading.Thread) -> None:
        with mode():
            run_thread(self)

    def watched_work(self: Any, *more: Any) -> None:
        if id(threading.current_thread()) not in started:  # the thread is watched
            return run_work(self, *more)
        with mode():
            return run_work(self, *more)

    threading.Thread.run = watched_thread  # type: ignore[method-assign]
    work.run = watched_work  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.run = run_thread  # type: ignore[method-assign]
        work.run = run_work  # type: ignore[method-assign]
