"""Tensors that a module holds outside of its registry.

`nn.Module` knows the parameters and buffers that are attributes of it. A tensor made by
`object.__setattr__`, kept in a list, a dict or a dataclass, or set on the class stays behind when
the module moves. This file finds such tensors and says where they are kept; `adoption.py` registers them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

# What nn.Module itself keeps in an instance.
_OWN = frozenset(vars(nn.Module())) | {"_forward_hooks_always_called", "_compiled_call_impl"}
# Deeper than this a container is taken for a data structure of the program's own.
_DEPTH = 6
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, type)


@dataclass(frozen=True)
class Step:
    """From a container to what is in it: `[key]`, or `.key` of an object."""

    key: Any
    attribute: bool = False

    def __str__(self) -> str:
        return f".{self.key}" if self.attribute else f"[{self.key!r}]"

    def take(self, container: Any) -> Any:
        return getattr(container, self.key) if self.attribute else container[self.key]


def _with(container: Any, steps: tuple[Step, ...], tensor: torch.Tensor) -> Any:
    """The container with `tensor` at the end of the steps: itself where it can be written to."""
    if not steps:
        return tensor
    step, rest = steps[0], steps[1:]
    value = _with(step.take(container), rest, tensor)
    if step.attribute:
        # Also of a frozen dataclass: it is the same value, on another device.
        object.__setattr__(container, step.key, value)
    elif isinstance(container, tuple):
        items = [*container[: step.key], value, *container[step.key + 1 :]]
        return type(container)(*items) if hasattr(container, "_fields") else tuple(items)
    else:
        container[step.key] = value
    return container


@dataclass(frozen=True, eq=False)
class Place:
    """An attribute of a module, or what lies within it, where a tensor is kept."""

    module: nn.Module
    attribute: str
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return self.attribute + "".join(map(str, self.steps))

    def get(self) -> Any:
        value = getattr(self.module, self.attribute)
        for step in self.steps:
            value = step.take(value)
        return value

    def put(self, tensor: torch.Tensor) -> None:
        # Past nn.Module.__setattr__, which would register or refuse.
        held = self.module.__dict__
        held[self.attribute] = _with(held.get(self.attribute), self.steps, tensor)


@dataclass(frozen=True, eq=False)
class Stray:
    """A tensor, or a module, that is in no registry; `obstacle` says why it cannot be registered."""

    owner: str  # the module's name in the tree, "" for the root
    place: Place
    value: Any
    obstacle: str = ""

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.place}" if self.owner else str(self.place)


def _inside(value: Any) -> Iterator[tuple[Step, Any]] | None:
    """What a container holds, by step; None for what is no container."""
    if isinstance(value, Mapping):
        return ((Step(key), item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ((Step(index), item) for index, item in enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return ((Step(n, True), getattr(value, n)) for n in names if hasattr(value, n))
    return None


def _fixed(value: Any) -> str:
    """Why nothing can be put into a container; empty where it can."""
    kind = type(value)
    if isinstance(value, PackedSequence):
        return "it is a PackedSequence, whose lengths stay on the CPU; move it in forward()"
    if isinstance(value, Mapping) and not isinstance(value, MutableMapping):
        return f"it is in a {kind.__name__}, which cannot be written to; keep it in a dict"
    if isinstance(value, tuple) and kind is not tuple and not hasattr(value, "_fields"):
        return f"it is in a {kind.__name__}, which cannot be made anew; keep it in a tuple"
    return ""


def _object_holds(value: Any) -> str:
    """The attribute of an object of the program's own that is a tensor, if there is one."""
    held = getattr(value, "__dict__", None)
    if isinstance(value, (nn.Module, torch.Generator)) or callable(value) or not held:
        return ""
    return next((name for name, item in held.items() if isinstance(item, torch.Tensor)), "")


def _walk(place: Place, value: Any, seen: set[int]) -> Iterator[tuple[Place, Any, str]]:
    """Tensors and modules within a value, each with what hinders its registration."""
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, (torch.Tensor, nn.Module)):
        yield place, value, ""
        return
    if id(value) in seen or len(place.steps) >= _DEPTH:
        return
    seen.add(id(value))
    if isinstance(value, (set, frozenset)):
        if any(isinstance(item, torch.Tensor) for item in value):
            yield place, value, "it is in a set, which has no places; keep it in a list"
        return
    inside = _inside(value)
    if inside is not None and (why := _fixed(value)):
        if any(isinstance(item, torch.Tensor) for _, item in inside):
            yield place, value, why
        return
    if inside is None:
        if name := _object_holds(value):
            kind = type(value).__name__
            yield (
                place,
                value,
                f"{kind}.{name} is a tensor in an object that torch cannot see into; make {kind} "
                "an nn.Module or a dataclass",
            )
        return
    for step, item in inside:
        yield from _walk(Place(place.module, place.attribute, (*place.steps, step)), item, seen)


def _attributes(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(module).items()):
        if name not in _OWN:
            yield name, value
    for kind in type(module).__mro__:
        if kind.__module__.startswith("torch.nn.modules") or kind is nn.Module:
            return
        for name, value in vars(kind).items():
            # Set on the class: one tensor for all instances, which no move reaches.
            if isinstance(value, torch.Tensor) and name not in vars(module):
                yield name, value


def find_strays(root: nn.Module) -> Iterator[Stray]:
    """Every tensor and module that `root` and the modules under it hold outside of the registry.

    Parameters that are registered as well are not among them: a list of them, as recurrent layers
    have, sees their moves, which are in place. Registered modules that are held twice are not either.
    """
    registered_modules = {id(module) for module in root.modules()}
    registered_parameters = {id(parameter) for parameter in root.parameters()}
    for owner, module in root.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue  # its attributes move with it
        seen: set[int] = set()
        for attribute, held in _attributes(module):
            for place, value, obstacle in _walk(Place(module, attribute), held, seen):
                if id(value) not in registered_modules and id(value) not in registered_parameters:
                    yield Stray(owner, place, value, obstacle)
