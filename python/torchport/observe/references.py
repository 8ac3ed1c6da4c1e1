"""Finds an expression for a device that is valid at a line of the program."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchport.observe.inventory import within
from torchport.observe.result import Line, Step
from torchport.observe.scopes import Scope, library_of, scope_at

_IDENTIFIERS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class References:
    """Expressions for devices, from the frames that the program's error left and from its modules.

    Every name in an expression is bound at the line for which it was asked.
    """

    def __init__(self, model: nn.Module, frames: list[FrameType]) -> None:
        self._model = model
        self._frames = frames

    def at(self, made: Step | None, device: torch.device, inputs: dict[str, Any]) -> str:
        """An expression like "x.device" for ``device`` at the line of ``made``; empty if nothing
        there has it. ``inputs`` are the tensors that the model's forward got, by name."""
        line = made.line if made is not None else None
        if made is None or line is None or library_of(line.file):
            return ""
        scope = scope_at(line.file, line.line)
        if scope is None:
            return ""
        return next(
            (
                f"{name}.device"
                for candidates in (
                    self._variables(line, scope),
                    self._of_forward(made, line, scope, inputs),
                    self._of_self(made, line, scope),
                )
                for name, tensor in candidates
                if tensor.device == device
            ),
            "",
        )

    def _variables(self, line: Line, scope: Scope) -> Iterator[tuple[str, torch.Tensor]]:
        """Tensors in the variables of the line's function, if its frame is known. A variable that is
        assigned again later may have been on another device at the line."""
        frame = next((f for f in reversed(self._frames) if scope.is_of(line.file, f.f_code)), None)
        if frame is None:
            return
        held = dict(frame.f_locals)
        names = [*(n for n in scope.parameters if n in held), *held]
        kept = [name for name in dict.fromkeys(names) if scope.keeps(name, line.line)]
        for name in kept:
            if isinstance(held[name], torch.Tensor):
                yield name, held[name]
        for name in kept:
            if isinstance(held[name], (dict, list, tuple)):
                yield from ((path, tensor) for path, tensor, _ in within(name, held[name]))

    def _of_forward(
        self, made: Step, line: Line, scope: Scope, inputs: dict[str, Any]
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """The inputs of the model's own forward, whose frame may have gone."""
        if (
            made.module
            or not _is_method_of(self._model, line, scope)
            or scope.function != "forward"
        ):
            return
        for path, tensor in inputs.items():
            name = re.split(r"[\[.]", path, maxsplit=1)[0]
            if name in scope.parameters and scope.keeps(name, line.line):
                yield path, tensor

    def _of_self(self, made: Step, line: Line, scope: Scope) -> Iterator[tuple[str, torch.Tensor]]:
        """Parameters and buffers of the module whose method the line is in."""
        try:
            module = self._model.get_submodule(made.module)
        except AttributeError:  # a module outside of the model
            return
        own = scope.parameters[0] if scope.parameters else ""
        if not own or not scope.keeps(own, line.line) or not _is_method_of(module, line, scope):
            return
        tensors = [*module.named_parameters(), *module.named_buffers()]
        for path, tensor in sorted(tensors, key=lambda item: item[0].count(".")):
            if _IDENTIFIERS.fullmatch(path):
                yield f"{own}.{path}", tensor
        for parameter in module.parameters():
            yield f"next({own}.parameters())", parameter
            return


def _is_method_of(module: nn.Module, line: Line, scope: Scope) -> bool:
    method = getattr(type(module), scope.function, None)
    code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
    return code is not None and scope.is_of(line.file, code)
