"""A timed operation of a program that runs, with a line in a log: `torchport.timed`."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import os
import resource
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import torch

from torchport._quantities import size

_log = logging.getLogger("torchport.timed")
_MEASURED = frozenset(
    ("time", "name", "seconds", "device", "device_name", "peak_bytes", "synchronized", "error")
)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class timed:
    """Times a block, or each call of a function, and waits for the device before and after it.

    A GPU works while the program goes on: without waiting, a clock shows how long it took to give
    the GPU its work. Each time is logged by the logger ``torchport.timed`` at level INFO and, with
    ``log``, appended to a file as one line of JSON; several processes may write the same file. While
    a CUDA graph is captured nothing is waited for, and the line says so.

    Args:
        name: The operation's name.
        device: What to wait for: a device or its name. By default the current accelerator, or the
            CPU if there is none.
        log: A file for JSON lines: ``time`` (UTC, of the end), ``name``, ``seconds``, ``device``,
            ``device_name``, ``peak_bytes`` (the most memory that the process had allocated there so
            far; on the CPU its resident memory), ``synchronized``, ``error`` (the exception that
            ended the operation, or null) and those of ``fields``.
        fields: More of what JSON can hold, for each line.

    Attributes:
        seconds: How long the last block took; None before.

    Raises:
        TypeError: When a generator is decorated: its body runs while it is read, not when it is
            called.
        ValueError: When the process has no such device, or a field has the name of a measured one.
        OSError: When the line cannot be written. If the operation ended with an exception, that one
            goes on, and the logger has the reason at level WARNING.

    Each call of a decorated function has its own time, so it may be recursive, a coroutine, or called
    from several threads. One object is one block at a time.

    Example:
        >>> with torchport.timed("forward") as forward:
        ...     y = torch.ones(3) * 2
        >>> forward.seconds > 0
        True
    """

    def __init__(
        self,
        name: str,
        *,
        device: torch.device | str | None = None,
        log: str | os.PathLike[str] | None = None,
        fields: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.seconds: float | None = None
        self._given = device
        self._log = None if log is None else Path(log)
        self._fields = dict(fields or {})
        if taken := _MEASURED & self._fields.keys():
            raise ValueError(f"torchport.timed: each line has its own {', '.join(sorted(taken))}")
        self._started = 0.0
        self._synchronized = True

    def __enter__(self) -> timed:
        self._device = _device(self._given)
        self._synchronized = _synchronize(self._device)
        self._started = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._synchronized &= _synchronize(self._device)
        except RuntimeError:
            if error is None:  # an error of the device is that of the operation
                raise
        self.seconds = time.perf_counter() - self._started
        try:
            self._write(error)
        except OSError as reason:
            if error is None:
                raise
            _log.warning("no line for %s: %s", self.name, reason)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"torchport.timed: {function.__qualname__} is a generator, whose body runs while it is "
                "read: time the loop that reads it"
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wait(*args: _P.args, **kwargs: _P.kwargs) -> Any:
                with self._again():
                    return await function(*args, **kwargs)

            return wait  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with self._again():
                return function(*args, **kwargs)

        return call

    def _again(self) -> timed:
        return timed(self.name, device=self._given, log=self._log, fields=self._fields)

    def _write(self, error: BaseException | None) -> None:
        name = _name_of(self._device)
        peak = _peak(self._device)
        assert self.seconds is not None
        _log.info(
            "%s on %s%s: %.6f s, peak %s%s",
            self.name,
            self._device,
            f" ({name})" if name else "",
            self.seconds,
            size(peak),
            "" if error is None else f", ended by {type(error).__name__}",
        )
        if self._log is None:
            return
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "name": self.name,
            "seconds": self.seconds,
            "device": str(self._device),
            "device_name": name,
            "peak_bytes": peak,
            "synchronized": self._synchronized,
            "error": None if error is None else f"{type(error).__name__}: {error}",
            **self._fields,
        }
        # One write to a file that is opened for appending stays in one piece (POSIX, write).
        with open(self._log, "ab", buffering=0) as file:
            file.write((json.dumps(line, default=str) + "\n").encode())


def _device(given: torch.device | str | None) -> torch.device:
    there = torch.accelerator.current_accelerator(True)
    device = torch.device(given) if given is not None else there
    if device is None or device.type in ("cpu", "meta"):
        return torch.device("cpu")
    if there is None or device.type != there.type:
        raise ValueError(f"torchport.timed: there is no device {device} here")
    if device.index is not None and device.index >= torch.accelerator.device_count():
        count = torch.accelerator.device_count()
        raise ValueError(f"torchport.timed: there is no device {device} here; {count} of its kind")
    if device.index is None:
        return torch.device(device.type, torch.accelerator.current_device_index())
    return device


def _synchronize(device: torch.device) -> bool:
    """Waits for the device. False, without waiting, while a graph is captured."""
    if device.type == "cpu":
        return True
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return False
    torch.accelerator.synchronize(device)
    return True


def _name_of(device: torch.device) -> str | None:
    module = torch.get_device_module(device)
    name: str | None = getattr(module, "get_device_name", lambda _: None)(device)
    return name


def _peak(device: torch.device) -> int:
    if device.type == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    try:
        return torch.accelerator.max_memory_allocated(device)
    except (RuntimeError, AttributeError):  # MPS has no such figure
        return 0
