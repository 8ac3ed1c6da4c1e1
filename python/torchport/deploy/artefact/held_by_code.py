"""What the functions of a model hold beside its modules: the variables of closures, and those of their files.

A forward may keep a tensor in them from one call to the next (``box[0] = torch.maximum(box[0], x.amax())``), and a
capture would leave a tensor without data there.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch import nn

from torchport._walk import PLAIN, is_opened_object
from torchport.deploy.artefact.user_lines import is_users

_LIBRARIES = (os.path.dirname(os.__file__),)
_MOST = 2000  # functions that are read
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_CONTAINERS = (list, dict, set)
_MISSING = object()


class Variable:
    """A variable of a closure or of a file."""

    def __init__(self, name: str, get: Callable[[], Any], put: Callable[[Any], None]) -> None:
        self.name = name
        self.get = get
        self.put = put
        self.then = get()


def variables_of(module: nn.Module) -> Iterator[Variable]:
    """The variables that the model's functions, and those that they call by name, may change."""
    waiting = list(_functions_of(module))
    seen: set[Any] = set()
    while waiting and len(seen) < _MOST:
        function = waiting.pop()
        if id(function) in seen or not _is_own(function.__code__):
            continue
        seen.add(id(function))
        for variable in [*_of_closure(function), *_of_file(function)]:
            waiting += _functions_in(variable.then)
            key = (id(function.__globals__), variable.name)
            if isinstance(variable, _OfFile):
                if key in seen:
                    continue
                seen.add(key)
            yield variable


class _OfFile(Variable):
    """A variable of a file, which more than one function may use."""


def _is_own(code: CodeType) -> bool:
    file = code.co_filename
    return is_users(code) and not file.startswith(_LIBRARIES) and "-packages" not in file


def _functions_of(module: nn.Module) -> Iterator[FunctionType]:
    kinds = {kind for part in module.modules() for kind in type(part).__mro__}
    for kind in kinds:
        if kind.__module__.partition(".")[0] != "torch":
            for value in vars(kind).values():
                yield from _functions_in(value)
    for part in module.modules():
        for value in vars(part).values():
            yield from _functions_in(value)
        for name in _HOOKS:
            for value in getattr(part, name, {}).values():
                yield from _functions_in(value)


def _functions_in(value: Any) -> list[FunctionType]:
    if isinstance(value, (staticmethod, classmethod, MethodType)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, functools.partial):
        value = value.func
    return [value] if isinstance(value, FunctionType) else []


def _of_closure(function: FunctionType) -> Iterator[Variable]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name == "__class__":
            continue
        try:
            _ = cell.cell_contents
        except ValueError:
            continue  # the variable is not set yet
        yield Variable(
            name,
            lambda cell=cell: cell.cell_contents,  # type: ignore[misc]
            lambda value, cell=cell: setattr(cell, "cell_contents", value),  # type: ignore[misc]
        )


def _of_file(function: FunctionType) -> Iterator[Variable]:
    held = function.__globals__
    for name in _names_of(function.__code__):
        value = held.get(name, _MISSING)
        if value is _MISSING or name.startswith("__"):
            continue
        of_the_file = is_opened_object(value) and type(value).__module__ == function.__module__
        if (
            type(value) in PLAIN
            or isinstance(value, (torch.Tensor, FunctionType, *_CONTAINERS))
            or (of_the_file and not isinstance(value, (type, nn.Module)))
        ):
            yield _OfFile(
                name,
                lambda name=name, held=held: held[name],  # type: ignore[misc]
                lambda value, name=name, held=held: held.__setitem__(name, value),  # type: ignore[misc]
            )


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)
