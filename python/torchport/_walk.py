"""The rule by which torchport searches objects for tensors.

`verify`, `adopt`, `check_module`, `to`, `loader`, `export` and `kernel` all use this module. When
each had its own rule, `verify` named tensors that `adopt` did not see, and vice versa.

The search looks into these values. It treats a value by the first entry that fits:

- **Containers**: mappings (their values), lists, tuples, deques, `UserList`, sets, dataclasses and
  attrs classes (their fields). They are searched to any depth, without recursion.
- **Functions**: the arguments of a `functools.partial`, and the closure of a Python function that
  torch does not define. Defaults and globals are not searched.
- **Objects** of classes that neither torch nor the standard library defines, and of
  `SimpleNamespace`, `argparse.Namespace` and `torch.distributions`: their instance attributes, in
  `__dict__` and in `__slots__`. The search looks into an object or a function inside another one,
  but no deeper; otherwise a module that refers to its trainer would expose the whole training.
- **Modules** are reported as modules. With `open_modules=True` the search looks into their tables
  and attributes instead.

The search does not look into classes, properties (it calls none), generators, weak references and
the elements of a tensor. Class attributes of a *module* count if they are tensors or containers
(`attributes`). A container whose own code raises an error is skipped (`to` passes the error on).

A walk opens each mutable container and each object once, so that cycles end. It opens a tuple at
every place, because a tuple at two places has to be replaced at both. A tensor is reported at each
place where it occurs. The walk ends after `_MOST` openings; only tuples that share tuples need so
many.

`_remake.py` rebuilds the containers that are opened here. `obstacle` says why the tensor at a place
cannot be replaced; it is empty if it can be.
`torch.utils._pytree` was rejected: it opens neither objects nor dataclasses, and it recurses. It is
used only where torch itself does the search: for the inputs and outputs of torch.export, and in
hooks that torch.compile follows.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import sys
from collections import UserList, deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from types import FunctionType, MemberDescriptorType, SimpleNamespace
from typing import Any, cast

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

_MOST = 1_000_000
_NESTED_OBJECTS = 2
PLAIN = frozenset(
    {str, bytes, bytearray, int, float, complex, bool, type(None), type, range, slice}
    | {torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format}
)
_SEQUENCES = (list, tuple, deque, UserList)
# Library classes whose instances only hold values of the program.
_HOLDERS = (SimpleNamespace, argparse.Namespace, torch.distributions.Distribution)
_OF_MODULES = frozenset(vars(nn.Module())) | {"_forward_hooks_always_called", "_compiled_call_impl"}


@dataclass(frozen=True)
class Step:
    """One step from a container to an element of it: `[key]`, or `.key` of an object."""

    key: Any
    attribute: bool = False

    def __str__(self) -> str:
        if self.attribute:
            return f".{self.key}"
        try:
            return f"[{self.key!r}]"
        except Exception:  # __repr__ is code of the key and may raise anything
            return f"[<{type(self.key).__name__}>]"

    def take(self, container: Any) -> Any:
        return getattr(container, self.key) if self.attribute else container[self.key]


@dataclass(frozen=True, eq=False)
class _Node:
    """A value that the walk found. The path is a chain of nodes: most are never used."""

    value: Any
    parent: _Node | None = None
    step: Step | None = None
    objects: int = 0  # the number of objects and functions that contain it
    obstacle: str = ""
    module: _Node | None = None  # the innermost opened module on the path

    def steps(self) -> tuple[Step, ...]:
        found: list[Step] = []
        node: _Node | None = self
        while node is not None and node.step is not None:
            found.append(node.step)
            node = node.parent
        return tuple(reversed(found))


@dataclass(frozen=True, eq=False)
class Found:
    """A tensor or a module, the steps to it, and the obstacle to its replacement, if any."""

    value: torch.Tensor | nn.Module
    steps: tuple[Step, ...]
    obstacle: str
    module: tuple[Step, ...] | None  # the steps to the opened module that holds it

    @property
    def path(self) -> str:
        return path_text(self.steps)


def path_text(steps: Iterable[Step]) -> str:
    """Steps as Python source, such as `[1]['deep'].mean`."""
    return "".join(map(str, steps))


@dataclass(frozen=True)
class _Inside:
    """The contents of a value. ``code``: the value is an object or a function, not a container."""

    items: list[tuple[Step, Any]]
    obstacle: str = ""
    code: bool = False


def is_a(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """Like isinstance(), but uses only the type: `__class__` of a proxy is code that may raise."""
    return issubclass(type(value), kinds)


def _is_torch(name: str | None) -> bool:
    return (name or "").partition(".")[0] == "torch"


def fields_of(value: Any) -> list[str] | None:
    """The names of the set fields of a dataclass or an attrs object; None for any other object."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    elif isinstance(attrs := getattr(kind, "__attrs_attrs__", None), tuple):
        names = [attribute.name for attribute in attrs]
    else:
        return None
    held = attributes_of(value)
    return [name for name in names if name in held]


def attributes_of(value: Any) -> dict[str, Any]:
    """The instance attributes of an object, in `__dict__` and `__slots__`. It calls no property."""
    held: dict[str, Any] = {}
    with contextlib.suppress(AttributeError):  # an object with only slots has no __dict__
        held.update(object.__getattribute__(value, "__dict__"))
    for kind in type(value).__mro__:
        for name, slot in vars(kind).items():
            if isinstance(slot, MemberDescriptorType) and name not in held:
                try:
                    held[name] = slot.__get__(value, kind)
                except AttributeError:
                    continue  # the slot is not set
    return held


def _closure(function: FunctionType) -> list[tuple[Step, Any]]:
    items = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            items.append((Step(name, True), cell.cell_contents))
        except ValueError:
            continue  # the closure's variable is not set yet
    return items


def is_opened_object(value: Any) -> bool:
    kind = type(value)
    if is_a(value, _HOLDERS):
        return True
    home = (getattr(kind, "__module__", None) or "").partition(".")[0]
    own = home == "__main__" or home not in sys.stdlib_module_names
    return own and home != "torch" and not is_a(value, type)


def _numbered(values: Iterable[Any]) -> list[tuple[Step, Any]]:
    return [(Step(index), item) for index, item in enumerate(values) if type(item) not in PLAIN]


def _inside(value: Any) -> _Inside | None:
    """The contents of a value by the rule above; None if the search does not look into it."""
    kind = type(value)
    if is_a(value, Mapping):
        pairs = [(Step(key), item) for key, item in value.items() if type(item) not in PLAIN]
        return _Inside(pairs, _fixed(value))
    if is_a(value, _SEQUENCES):
        return _Inside(_numbered(value), _fixed(value))
    if is_a(value, (set, frozenset)):
        return _Inside(
            _numbered(value), "it is in a set, whose elements cannot be replaced; keep it in a list"
        )
    if (names := fields_of(value)) is not None:
        held = attributes_of(value)
        return _Inside([(Step(name, True), held[name]) for name in names])
    if is_a(value, functools.partial):
        parts = [(Step("args", True), value.args), (Step("keywords", True), value.keywords)]
        why = "it is an argument of a functools.partial; pass it to the call instead"
        return _Inside([(Step("func", True), value.func), *parts], why, code=True)
    if is_a(value, FunctionType):
        why = f"it is in the closure of {value.__name__}(); make it an attribute of the module"
        closed = [] if _is_torch(value.__module__) else _closure(value)
        return _Inside(closed, why, code=True) if closed else None
    if is_opened_object(value):
        why = (
            f"it is in an object of {kind.__name__}, which torch does not look into; "
            f"make {kind.__name__} an nn.Module or a dataclass"
        )
        items = [(Step(n, True), item) for n, item in attributes_of(value).items()]
        return _Inside(items, why, code=True)
    return None


def _fixed(value: Any) -> str:
    """Why a mapping or a sequence cannot be written to; empty if it can be."""
    kind = type(value)
    if is_a(value, PackedSequence):
        return "it is a PackedSequence, whose lengths stay on the CPU; move it in forward()"
    if is_a(value, Mapping) and not is_a(value, MutableMapping):
        return f"it is in a {kind.__name__}, which is read-only; keep it in a dict"
    if is_a(value, tuple) and kind is not tuple and not hasattr(value, "_fields"):
        return f"it is in a {kind.__name__}, which cannot be rebuilt; keep it in a tuple"
    return ""


def _of_module(module: nn.Module) -> _Inside:
    tables = (module._parameters, module._buffers, module._modules)
    items = [(Step(name, True), item) for table in tables for name, item in table.items()]
    return _Inside(items + [(Step(name, True), item) for name, item in attributes(module)])


def attributes(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """The values that a module holds besides its parameters, buffers and modules: its instance
    attributes, and tensors and containers that are attributes of the program's own classes."""
    held = {name: v for name, v in attributes_of(module).items() if name not in _OF_MODULES}
    yield from held.items()
    seen = set(held)
    for kind in type(module).__mro__:
        if _is_torch(kind.__module__):
            return
        for name, value in vars(kind).items():
            if name in seen or name.startswith("__"):
                continue
            seen.add(name)
            if is_a(value, (torch.Tensor, Mapping, *_SEQUENCES, set, frozenset)):
                yield name, value


def walk(value: Any, *, known: Iterable[int] = (), open_modules: bool = False) -> Iterator[Found]:
    """The tensors and modules in ``value``, in the order in which it holds them.

    ``known`` are ids of objects that are neither reported nor opened. With ``open_modules`` the
    tensors in modules are reported instead of the modules.
    """
    passed = set(known)
    opened = 0
    keep: list[Any] = []  # keeps temporary objects alive, so that no id is used twice
    stack = [_Node(value)]
    while stack and opened < _MOST:
        node = stack.pop()
        item = node.value
        if type(item) in PLAIN or id(item) in passed:
            continue
        is_module = is_a(item, nn.Module)
        if is_a(item, torch.Tensor) or (is_module and not open_modules):
            module = node.module.steps() if node.module else None
            yield Found(item, node.steps(), node.obstacle, module)
            continue
        if not is_a(item, tuple):
            passed.add(id(item))
            keep.append(item)
        try:
            inside = _of_module(item) if is_module else _inside(item)
        except Exception:  # code of the value: a lazy mapping with a closed file, an unbound proxy
            continue
        if inside is None or (inside.code and node.objects >= _NESTED_OBJECTS):
            continue
        opened += 1
        objects = node.objects + inside.code
        obstacle = node.obstacle or inside.obstacle
        owner = node if is_module else node.module
        for step, part in reversed(inside.items):
            if type(part) not in PLAIN:
                stack.append(_Node(part, node, step, objects, obstacle, owner))


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor in ``value`` once, including those of modules."""
    seen: dict[int, torch.Tensor] = {}
    for found in walk(value, open_modules=True):
        if id(found.value) not in seen:
            tensor = cast(torch.Tensor, found.value)
            seen[id(tensor)] = tensor
            yield tensor
