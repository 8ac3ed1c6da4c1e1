"""Finds where a model asks whether it is being exported: it may then compute something different from eager."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn

from torchport.deploy.artefact.batches import Batch
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.parity import eager, measure
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.tolerance import Tolerance
from torchport.deploy.artefact.user_lines import is_users

# Functions of torch, by the place where programs find them.
_QUESTIONS = (
    "jit.is_tracing",
    "jit.is_scripting",
    "compiler.is_exporting",
    "compiler.is_compiling",
    "compiler.is_dynamo_compiling",
    "onnx.is_in_onnx_export",
)
# The answer is no in a capture without dynamo, and a graph for ONNX is captured before the exporter has it.
_NEVER = frozenset(["compiler.is_dynamo_compiling", "onnx.is_in_onnx_export"])
_TAKES_MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR


class Asked:
    """``lines`` has the questions by the line of the program that asks each, as FILE:LINE."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}


def questions_of(format_: str, script: bool) -> frozenset[str]:
    """The questions that are answered otherwise while a model is made an artefact of the format."""
    if format_ == "torchscript":
        return frozenset(["jit.is_scripting" if script else "jit.is_tracing"])
    of_jit = {"jit.is_tracing", "jit.is_scripting"}
    if format_ == "onnx":
        return frozenset(_QUESTIONS) - of_jit
    return frozenset(_QUESTIONS) - of_jit - {"onnx.is_in_onnx_export"}


@contextmanager
def watched_questions(names: frozenset[str], answer: bool | None = None) -> Iterator[Asked]:
    """Collects the lines that ask one of ``names``. With an ``answer`` they get it; torch's own lines do not.

    A program may have a function by another name (``from torch.jit import is_tracing``), so the code of the
    function changes, and not the name.
    """
    asked = Asked()
    changed: list[tuple[FunctionType, CodeType]] = []
    try:
        for name in sorted(names):
            found = _function(name)
            if found is not None:
                changed.append((found, found.__code__))
                _replace(found, name, asked, answer)
        yield asked
    finally:
        for found, code in changed:
            found.__code__ = code
            found.__globals__.pop(_hook_of(found), None)


def _function(name: str) -> FunctionType | None:
    module, _, attribute = name.partition(".")
    found = getattr(getattr(torch, module, None), attribute, None)
    if not isinstance(found, FunctionType):  # a release of torch may lack it
        return None
    takes_nothing = not (found.__code__.co_argcount or found.__code__.co_flags & _TAKES_MORE)
    return found if takes_nothing and not found.__closure__ else None


def _hook_of(function: FunctionType) -> str:
    return f"_torchport_{function.__name__}"


def _ask() -> bool:
    return _torchport_hook()  # type: ignore[name-defined,no-any-return]  # noqa: F821


def _replace(function: FunctionType, name: str, asked: Asked, answer: bool | None) -> None:
    original = FunctionType(function.__code__, function.__globals__, function.__name__)

    def hook() -> Any:
        caller = sys._getframe(2)
        if not is_users(caller.f_code):
            return original()
        asked.lines.setdefault(f"{caller.f_code.co_filename}:{caller.f_lineno}", f"torch.{name}()")
        return original() if answer is None else answer

    function.__globals__[_hook_of(function)] = hook
    function.__code__ = _ask.__code__.replace(co_names=(_hook_of(function),))


def assumed(asked: Asked) -> list[str]:
    return [
        f"{Path(line).name} asks {question}, and the artefact keeps what the model does while it is exported"
        for line, question in asked.lines.items()
    ]


def refuse_other_answers(
    module: nn.Module,
    batches: Sequence[Batch],
    names: frozenset[str],
    asked: Asked,
    settings: tuple[Tolerance, bool],
) -> None:
    """Raises ExportError if the model's results on the tried inputs depend on the answers. ``settings`` are the
    tolerance, and whether NaN is allowed."""

    def exporting(sample: Sample) -> list[torch.Tensor]:
        try:
            with watched_questions(names - _NEVER, True):
                return eager(module, sample)[1]
        except Exception:  # a way that only an exporter can go
            return eager(module, sample)[1]

    tried = measure(module, exporting, "eager", batches, *settings)
    if tried.findings:
        lines = ["the model asks whether it is being exported, and then gives another result:"]
        lines += [f"  {line} asks {question}" for line, question in asked.lines.items()]
        lines += [f"  output {tried.findings[0]}", "let both ways compute the same"]
        raise ExportError("\n".join(lines))
