"""Watches what a model does in other threads: a mode of torch is for one thread alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import thread as pools
from contextlib import contextmanager
from functools import wraps
from multiprocessing.pool import Pool, ThreadPool
from typing import Any

from torch.overrides import TorchFunctionMode


@contextmanager
def in_other_threads(mode: Callable[[], TorchFunctionMode]) -> Iterator[None]:
    """Threads that start in the block, and calls that it gives to a ThreadPoolExecutor or to a ThreadPool of
    multiprocessing, run within a ``mode()`` of their own.
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

    def watched_call(function: Any) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if id(threading.current_thread()) not in started:
                return function(*args, **kwargs)
            with mode():
                return function(*args, **kwargs)

        return call

    given = {name: getattr(Pool, name) for name in _OF_POOLS}
    for name, method in given.items():
        setattr(Pool, name, _with_function(method, watched_call))
    threading.Thread.run = watched_thread  # type: ignore[method-assign]
    work.run = watched_work  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.run = run_thread  # type: ignore[method-assign]
        work.run = run_work  # type: ignore[method-assign]
        for name, method in given.items():
            setattr(Pool, name, method)


# All other methods of a pool that take a function call one of these.
_OF_POOLS = ("apply_async", "_map_async", "imap", "imap_unordered")


def _with_function(method: Any, changed: Callable[[Any], Any]) -> Any:
    """A method of pools that gives the changed function to the threads of one. Processes get it as it is."""

    @wraps(method)
    def give(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        return method(
            self, changed(func) if isinstance(self, ThreadPool) else func, *args, **kwargs
        )

    return give
