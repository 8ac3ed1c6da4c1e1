"""Rebuilds containers and puts tensors into them: the writing side of `torchport._walk`."""

from __future__ import annotations

import copy
from collections import UserDict, UserList, deque
from collections.abc import Callable, Generator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from torchport._walk import PLAIN, Step, attributes_of, fields_of, is_a


def replaced(container: Any, steps: tuple[Step, ...], tensor: torch.Tensor) -> Any:
    """Puts ``tensor`` at the end of ``steps`` in ``container``. Returns the container itself if it
    is writable, or a new tuple. The tensor that is replaced must not have an obstacle."""
    if not steps:
        return tensor
    chain = [container]
    for step in steps[:-1]:
        chain.append(step.take(chain[-1]))
    value: Any = tensor
    for holder, step in zip(reversed(chain), reversed(steps), strict=True):
        if step.attribute:
            # This also changes frozen dataclasses: the value is the same, only on another device.
            object.__setattr__(holder, step.key, value)
        elif isinstance(holder, tuple):
            value = _tuple_like(holder, [*holder[: step.key], value, *holder[step.key + 1 :]])
            continue
        else:
            holder[step.key] = value
        value = holder
    return value


def method_of(value: Any, name: str) -> Callable[..., Any] | None:
    """The bound method ``name`` of an object, such as ``to`` or ``pin_memory``; None without it."""
    try:
        method = None if is_a(value, type) else getattr(value, name, None)
    except Exception:  # __getattr__ is code of the object and may raise anything
        return None
    return method if callable(method) else None


def _tuple_like(value: tuple[Any, ...], items: list[Any]) -> Any:
    make = getattr(type(value), "_make", type(value))  # a named tuple may define its own __new__
    return make(items)


# A generator that rebuilds one value: it yields the parts and receives the rebuilt parts.
_Remaking = Generator[Any, Any, Any]


class Remaker:
    """Rebuilds containers, with ``leaf(value)`` in place of every value that is not a container.

    An object that occurs twice is rebuilt once, also over several calls, so that sharing and cycles
    stay. Lists, dicts and dataclasses may hold themselves. Not thread safe. Subclasses override
    ``leaf``. A callback was rejected: if it is a method of the remaker's owner, it makes a
    reference cycle, and tensors stay in memory until the garbage collector runs.
    """

    def leaf(self, value: Any) -> Any:
        """The replacement for a value that is not a container."""
        raise NotImplementedError

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}  # id -> original (kept alive), rebuilt value

    def remember(self, value: Any, made: Any) -> Any:
        self._made[id(value)] = (value, made)
        return made

    def __call__(self, value: Any) -> Any:
        result: Any = None
        stack: list[_Remaking] = [self._remade(value)]
        while stack:
            try:
                part = stack[-1].send(result)
            except StopIteration as done:
                result = done.value
                stack.pop()
            else:
                stack.append(self._remade(part))
                result = None
        return result

    def _remade(self, value: Any) -> _Remaking:
        if type(value) in PLAIN:
            return value
        if known := self._made.get(id(value)):
            return known[1]
        make = self._maker(value)
        made = (yield from make(value)) if make else self.leaf(value)
        return self.remember(value, made)

    def _maker(self, value: Any) -> Callable[[Any], _Remaking] | None:
        if is_a(value, (torch.Tensor, nn.Module, PackedSequence)):
            return None
        if is_a(value, (dict, UserDict)):
            # Dict classes such as BatchEncoding of transformers move themselves.
            return None if method_of(value, "to") else self._dict
        if is_a(value, Mapping):
            return None if method_of(value, "to") else self._mapping
        if is_a(value, tuple):
            return self._tuple
        if is_a(value, (list, UserList, deque)):
            return self._list
        if is_a(value, (set, frozenset)):
            return self._set
        return self._record if fields_of(value) is not None else None

    def _dict(self, value: Any) -> _Remaking:
        made = self.remember(value, copy.copy(value))
        for key, item in list(value.items()):
            made[key] = yield item
        return made

    def _mapping(self, value: Any) -> _Remaking:
        items = {}
        for key, item in value.items():
            items[key] = yield item
        return type(value)(items)

    def _list(self, value: Any) -> _Remaking:
        made = self.remember(value, copy.copy(value))
        for index, item in enumerate(value):
            if type(item) not in PLAIN:
                made[index] = yield item
        return made

    def _tuple(self, value: tuple[Any, ...]) -> _Remaking:
        items = []
        for item in value:
            items.append((yield item))
        return _tuple_like(value, items)

    def _set(self, value: Any) -> _Remaking:
        items = []
        for item in value:
            items.append((yield item))
        return type(value)(items)

    def _record(self, value: Any) -> _Remaking:
        # __init__ may take other arguments than the fields.
        made = self.remember(value, object.__new__(type(value)))
        for name, item in attributes_of(value).items():
            object.__setattr__(made, name, item)
        for name in fields_of(value) or ():
            object.__setattr__(made, name, (yield getattr(value, name)))
        return made
