"""Observations, the threads that they watch, and places: src/bindings/observe.cpp."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from torchport._native import call, function
from torchport._native.held import Held
from torchport._native.observed import Observed, observed_of

# Hooks call these once for each module. An operator would take microseconds.
_watches: Callable[[int], bool] = function(
    "torchport_observation_watches", ctypes.c_bool, ctypes.c_void_p
)
_enter: Callable[[int, int], bool] = function(
    "torchport_observation_enter", ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32
)
_leave: Callable[[int], bool] = function(
    "torchport_observation_leave", ctypes.c_bool, ctypes.c_void_p
)
_free_observation: Callable[[int], None] = function(
    "torchport_observation_free", None, ctypes.c_void_p
)
_observed_thread: Callable[[], int | None] = function("torchport_observed_thread", ctypes.c_void_p)
_join_thread: Callable[[int], None] = function(
    "torchport_observed_thread_join", None, ctypes.c_void_p
)
_free_thread: Callable[[int], None] = function(
    "torchport_observed_thread_free", None, ctypes.c_void_p
)


class Observation(Held):
    """Watches the operators of the thread that made it, from its construction until `finish`.

    Places are numbers that are valid while this object lives. Frames of files whose names start
    with one of ``passed_over`` are no places of the program.
    """

    __slots__ = ()

    def __init__(
        self,
        passed_over: Sequence[str],
        every_place: bool = False,
        check_finite: bool = False,
        max_calls: int = 1 << 20,
    ) -> None:
        arguments = (list(passed_over), every_place, check_finite, max_calls)
        self._hold(call("start_observation", *arguments), _free_observation)

    def finish(self) -> Observed:
        """Ends the observation. Call it once, on the thread that made it."""
        text, tensors = call("finish_observation", self._address)
        return observed_of(json.loads(text), tensors)

    def watches_this_thread(self) -> bool:
        """Whether it watches the calling thread."""
        return _watches(self._address)

    def enter(self, module: int) -> bool:
        """Attributes what the calling thread does, until `leave`, to the module with this number.
        False on a thread that is not watched."""
        return _enter(self._address, module)

    def leave(self) -> bool:
        """Leaves the module that was entered last. False if the thread has entered none."""
        return _leave(self._address)


class ObservedThread(Held):
    """The observations that watch a thread, for a thread that it starts."""

    __slots__ = ()

    @classmethod
    def current(cls) -> ObservedThread:
        """Takes those of the calling thread."""
        address = _observed_thread()
        if address is None:
            raise MemoryError
        thread = cls()
        thread._hold(address, _free_thread)
        return thread

    def join(self) -> None:
        """Makes them watch the calling thread, too."""
        _join_thread(self._address)


@dataclass(frozen=True)
class SourceLocation:
    """The position of a frame. Before Python 3.11, only the line is known; the rest is 0."""

    file: str
    function: str
    line: int
    end_line: int
    column: int  # in bytes of UTF-8, as in Python's own tables
    end_column: int
    code: int  # the address of the code object, which lives while an observation does
    instruction: int  # the offset in the code, in bytes; -1 if it is not known


def frames_of_location(number: int) -> list[SourceLocation]:
    """The frames of a place, the innermost first; none for a number that is no place."""
    frames: list[dict[str, Any]] = json.loads(call("frames_of_place", number)) if number else []
    return [SourceLocation(**frame) for frame in frames]


def tensor_number(tensor: torch.Tensor) -> int:
    """The number of a tensor, as in `TensorFacts`. It is valid while the tensor lives."""
    return cast(int, call("tensor_number", tensor))


def storage_number(tensor: torch.Tensor) -> int:
    """The number of a tensor's storage; 0 if it has none."""
    return cast(int, call("storage_number", tensor))
