"""What the objects and containers of a model hold at one moment, beside the tensors' values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from torchport._walk import PLAIN, is_opened_object
from torchport.deploy.artefact.held_by_code import Variable


class Holder:
    """The attributes of an object, or a list, dict or set, with what it holds now."""

    def __init__(self, name: str, held: Any, is_object: bool):
        self._name = name
        self._held = held
        self._is_object = is_object
        self._then = type(held)(held)

    def changed(self) -> list[str]:
        now, then = self._held, self._then
        if isinstance(now, dict):
            keys = [key for key in {**then, **now} if _is_other(then, now, key)]
            return (
                [_joined(self._name, key) for key in keys]
                if self._is_object
                else ([self._name] if keys else [])
            )
        same = len(then) == len(now) and (
            then == now if isinstance(now, set) else all(map(_equal, then, now))
        )
        return [] if same else [self._name]

    def restore(self) -> None:
        now, then = self._held, self._then
        if isinstance(now, dict):
            if list(now) != list(then) or any(now[key] is not then[key] for key in then):
                now.clear()
                now.update(then)
        elif isinstance(now, set):
            now.clear()
            now.update(then)
        elif len(now) != len(then) or any(a is not b for a, b in zip(now, then, strict=True)):
            now[:] = then


_MISSING = object()
_TABLES = frozenset(["_parameters", "_buffers", "_modules"])
_OBJECTS_DEEP = 2  # as far as `walk` looks into objects


class VariableHolder:
    """A variable of the model's code, with what it was."""

    def __init__(self, variable: Variable):
        self._variable = variable

    def changed(self) -> list[str]:
        same_value = _equal(self._variable.then, self._variable.get())
        return [] if same_value else [self._variable.name]

    def restore(self) -> None:
        if self._variable.get() is not self._variable.then:
            self._variable.put(self._variable.then)


def holders_of(
    module: nn.Module, variables: Sequence[Variable] = ()
) -> Iterator[Holder | VariableHolder]:
    """What can change in a model besides its tensors: the modules, their objects and containers, and ``variables`` of
    its code."""
    yield from map(VariableHolder, variables)
    seen: set[int] = set()
    stack: list[tuple[str, Any, int]] = [(one.name, one.then, 0) for one in variables]
    stack.append(("", module, 0))
    while stack:
        name, value, depth = stack.pop()
        if id(value) in seen or type(value) in PLAIN or isinstance(value, torch.Tensor):
            continue
        seen.add(id(value))
        is_table = name.rpartition(".")[2] in _TABLES
        if type(value) in (list, dict, set, OrderedDict):
            owner = name.rpartition(".")[0] if is_table else name
            yield Holder(owner, value, is_table)
            items = value.items() if isinstance(value, dict) else enumerate(value)
            stack += [(_joined(owner, k), v, depth) for k, v in items if type(v) not in PLAIN]
        elif isinstance(value, nn.Module) or (depth < _OBJECTS_DEEP and is_opened_object(value)):
            held = getattr(value, "__dict__", None)
            if type(held) is not dict:
                continue
            yield Holder(name, held, True)
            deeper = depth + (not isinstance(value, nn.Module))
            stack += [(_joined(name, k), v, deeper) for k, v in held.items()]


def _joined(owner: str, key: Any) -> str:
    return f"{owner}.{key}" if owner else str(key)


def _is_other(then: dict[Any, Any], now: dict[Any, Any], key: Any) -> bool:
    return not _equal(then.get(key, _MISSING), now.get(key, _MISSING))


def _equal(before: Any, after: Any) -> bool:
    """Whether two values of an attribute are one object, or the same number, text or tensor."""
    if before is after:
        return True
    if type(before) is not type(after):
        return False
    if isinstance(before, torch.Tensor):
        return same(before, after)
    if isinstance(before, tuple):
        return len(before) == len(after) and all(map(_equal, before, after))
    return type(before) in PLAIN and bool(before == after)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and values; NaN equals NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = one.detach(), other.detach()
    if one.is_floating_point() or one.is_complex():
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    return bool((one == other).all())
