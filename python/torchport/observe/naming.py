"""Finds the names that the program has for tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import torch

from torchport._native.observing import storage_number, tensor_number
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
        for kind in ("local", "global"):
            for frame in reversed(self.frames):
                variables = frame.f_locals if kind == "local" else frame.f_globals
                for name, value in list(variables.items()):
                    if value is tensor:
                        return Named(name, kind)
        for frame in reversed(self.frames):
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, (dict, list, tuple)):
                    for path, part, _ in within(name, value):
                        if part is tensor:
                            return Named(path, "local")
        return None

    def of(self, tensor: torch.Tensor) -> Named | None:
        return self.find(tensor_number(tensor), storage_number(tensor)) or self.local(tensor)

    def on(self, device: torch.device, function: str) -> str:
        """The name of a tensor on ``device`` in the frame of ``function``; empty if there is none.
        Parameters come first, because they are valid in each line of the function."""
        for frame in reversed(self.frames):
            if frame.f_code.co_name != function:
                continue
            parameters = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            for name in (*parameters, *frame.f_locals):
                value = frame.f_locals.get(name)
                if isinstance(value, torch.Tensor) and value.device == device:
                    return name
        return ""


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    torch_own = torch.__path__[0]
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(torch_own) and not any(own in file for own in _OWN):
            yield traceback.tb_frame
        traceback = traceback.tb_next


def named_tensors(names: list[str], values: list[Any]) -> dict[str, torch.Tensor]:
    """The tensors in ``values`` by path; each path begins with the name of its value."""
    return {
        path: tensor
        for name, value in zip(names, values, strict=True)
        for path, tensor, _ in within(name, value)
    }
