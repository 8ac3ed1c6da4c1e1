"""Finds the names that the program has for tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, cast

import torch
from torch import nn

from torchport._native.observing import storage_number, tensor_number
from torchport._walk import is_a, walk
from torchport.observe.inventory import Held, within

_OWN = ("/torchport/observe/", "/torchport/deploy/artefact/")


@dataclass(frozen=True)
class Named:
    """The name of a tensor. ``held`` is set if it is a tensor of the model."""

    name: str
    kind: str  # "parameter", "buffer", "unregistered tensor", "input", "local", "global", ""
    held: Held | None = None


class Names:
    """The named tensors. They are found by the number that the observer gives to each tensor."""

    def __init__(self, held: Iterable[Held], inputs: dict[str, torch.Tensor]):
        self._tensors: dict[int, Named] = {}
        self._storages: dict[int, Named] = {}
        self._keep: list[torch.Tensor] = []  # numbers are unique only among living tensors
        self.frames: list[FrameType] = []
        for name, tensor in inputs.items():
            self._add(tensor, Named(name, "input"))
        self.add_held(held)

    def add_held(self, held: Iterable[Held]) -> None:
        for item in held:
            self._add(item.tensor, Named(item.name, item.kind, item))

    def _add(self, tensor: torch.Tensor, named: Named) -> None:
        self._keep.append(tensor)
        self._tensors.setdefault(tensor_number(tensor), named)
        if storage := storage_number(tensor):
            self._storages.setdefault(storage, named)

    def after(self, error: BaseException | None) -> None:
        """Adds the local and global variables of the frames in the traceback of ``error``."""
        traceback = error.__traceback__ if error is not None else None
        self.frames = list(_frames(traceback))

    def find(self, tensor: int, storage: int) -> Named | None:
        """Finds a tensor by its number, or its base tensor by the number of its storage."""
        if named := self._tensors.get(tensor):
            return named
        if storage and (named := self._storages.get(storage)):
            return Named(f"a view of {named.name}", named.kind, named.held)
        return None

    def local(self, tensor: torch.Tensor) -> Named | None:
        """The variable that is this tensor or holds it; inner frames are searched first."""
        for kind, name, value in self._variables():
            if value is tensor:
                return Named(name, kind)
        for kind, name, value in self._variables():
            for path, part, _ in within(name, value):
                if part is tensor:
                    return Named(path, kind)
        return None

    def of_module(self, module: nn.Module) -> str:
        """The program's name of a module that is not part of the model: "criterion",
        "self.criterion"; empty if no variable leads to it. Its own ``self`` is no name of it."""
        found = [(name, value) for _, name, value in self._variables()]
        for name, value in found:
            if value is module and name != "self":
                return name
        for name, value in found:
            inner = [(name, value)] if is_a(value, nn.Module) else []
            inner += [(name + one.path, one.value) for one in walk(value)]
            for path, part in inner:
                if not is_a(part, nn.Module):
                    continue
                for below, child in cast(nn.Module, part).named_modules():
                    if child is module and (below or path != "self"):
                        return f"{path}.{below}" if below else path
        return ""

    def _variables(self) -> Iterator[tuple[str, str, Any]]:
        """Kind, name and value of the variables of the program's frames, innermost first; the
        modules' own variables follow those of all functions."""
        for frame in reversed(self.frames):
            for name, value in list(frame.f_locals.items()):
                yield "local", name, value
        seen: set[int] = set()
        for frame in reversed(self.frames):
            if id(frame.f_globals) in seen or frame.f_locals is frame.f_globals:
                continue
            seen.add(id(frame.f_globals))
            for name, value in list(frame.f_globals.items()):
                if not name.startswith("__"):
                    yield "global", name, value

    def of(self, tensor: torch.Tensor) -> Named | None:
        return self.find(tensor_number(tensor), storage_number(tensor)) or self.local(tensor)


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        if is_of_program(traceback.tb_frame):
            yield traceback.tb_frame
        traceback = traceback.tb_next


def is_of_program(frame: FrameType) -> bool:
    """Whether a frame is neither torch's nor one of those that run the model."""
    file = frame.f_code.co_filename
    return not file.startswith(torch.__path__[0]) and not any(own in file for own in _OWN)


def named_tensors(names: list[str], values: list[Any]) -> dict[str, torch.Tensor]:
    """The tensors in ``values`` by path; each path begins with the name of its value."""
    return {
        path: tensor
        for name, value in zip(names, values, strict=True)
        for path, tensor, _ in within(name, value)
    }
