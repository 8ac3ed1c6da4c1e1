"""The numbers with which a model's code compares: a trace keeps the way that the sizes of the sample led to, so that
other sizes are tried on both sides of each.

The functions that one run calls are read. A number is a constant, an attribute of the model or of its configuration,
or a variable, which is taken as it was when the function ended.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn

from torchport._walk import walk
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.size_lookups import MISSING as _MISSING
from torchport.deploy.artefact.size_lookups import Sizes, called, is_size, value_of
from torchport.deploy.artefact.state import kept
from torchport.deploy.artefact.user_lines import is_users

_LEAST, _MOST = 2, 1 << 40
# Functions whose numbers decide how often something is done, or what is taken.
_CALLS = frozenset(["range", "split", "tensor_split", "islice", "min", "max", "divmod"])
_TOLD = frozenset(["print", "warn", "warning", "info", "debug", "error", "exception"])
_STEPS = (ast.Mod, ast.FloorDiv)


@dataclass
class Limits:
    """``numbers`` has the lines (FILE:LINE) by number. ``unknown`` are lines that compare a size with what was not
    found, or do with it what cannot be followed."""

    numbers: dict[int, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def add(self, number: Any, line: str) -> None:
        if type(number) is int and _LEAST <= number <= _MOST:
            self.numbers.setdefault(number, line)


def limits_of(module: nn.Module, sample: Sample) -> Limits:
    """Runs the model once, and restores it."""
    held = {id(found.value) for found in walk(module, open_modules=True)}
    ends: dict[CodeType, list[dict[str, Any]]] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and is_users(frame.f_code):
            known = ends.setdefault(frame.f_code, [])
            if len(known) < 4:  # of several modules of a class
                known.append(
                    {
                        **frame.f_globals,
                        **frame.f_locals,
                        _LOCALS: set(frame.f_locals),
                        _HELD: held,
                    }
                )

    before = sys.getprofile()
    with torch.no_grad(), kept(module):
        inputs = sample.copy()
        sys.setprofile(look)
        threading.setprofile(look)
        try:
            inputs.call(module)
        finally:
            sys.setprofile(before)
            threading.setprofile(None)
    limits = Limits()
    for code, scopes in ends.items():
        for scope in scopes:
            _read(code, scope, limits)
    return limits


_LOCALS = "torchport: names of local variables"
_HELD = "torchport: the tensors of the model, by id"


def _read(code: CodeType, scope: dict[str, Any], limits: Limits) -> None:
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return
    sizes = Sizes(tree, scope)
    told = _told(tree)
    for node in ast.walk(tree):
        line = f"{Path(code.co_filename).name}:{first + getattr(node, 'lineno', 1) - 1}"
        if id(node) not in told and (found := sizes.looked_up(node)) is not None:
            if not found:
                limits.unknown.append(line)
            for one in found:
                limits.add(one, line)
        operands = list(_operands(node))
        if any(_is_local(one, scope) for one in operands):
            _compare(operands, scope, line, limits)


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for one in [node.left, *node.comparators]:
            yield from one.elts if isinstance(one, (ast.Tuple, ast.List, ast.Set)) else [one]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _STEPS):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Call) and called(node) in _CALLS:
        yield from [*node.args, *(one.value for one in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            yield node.func.value


def _compare(operands: list[ast.expr], scope: dict[str, Any], line: str, limits: Limits) -> None:
    values = [value_of(one, scope) for one in operands]
    found = [value for value in values if type(value) is int]
    for value in found:
        limits.add(value, line)
    for operand, value in zip(operands, values, strict=True):
        if type(value) is int:
            continue
        # Of `x.shape[0] * 2 > 96`, or `x.shape[0] // 16 > 3`.
        for factor in _numbers_in(operand):
            for other in found:
                for one in (
                    *(other * factor, (other + 1) * factor, other // factor),
                    *(other - factor, other + factor),
                ):
                    limits.add(one, line)
    for operand in operands:
        limits.add(_size_held(operand, scope), line)
    sized = [is_size(one) for one in operands]
    missing = [
        value is _MISSING and not of_size for value, of_size in zip(values, sized, strict=True)
    ]
    if not found and any(sized) and len(operands) > 1 and any(missing):
        limits.unknown.append(line)


def _is_local(node: ast.AST, scope: dict[str, Any]) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id in scope[_LOCALS] and one.id != "self"
        for one in ast.walk(node)
    )


def _told(tree: ast.AST) -> set[int]:
    """The nodes in what is only told, by id: errors, checks, and what is printed or logged."""
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Raise, ast.Assert))
        or (isinstance(node, ast.Call) and called(node) in _TOLD)
        for inner in ast.walk(node)
    }


def _size_held(node: ast.AST, scope: dict[str, Any]) -> Any:
    """The size that an expression takes of a tensor of the model: `self.table.numel()`, `pos.shape[0]`."""
    index = None
    if isinstance(node, ast.Subscript):
        index, node = value_of(node.slice, scope), node.value
    if isinstance(node, ast.Call):
        if called(node) == "len" and node.args:
            index, owner = 0, node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "size"):
            owner = node.func.value
            index = value_of(node.args[0], scope) if node.args else index
        else:
            return _MISSING
    elif isinstance(node, ast.Attribute) and node.attr == "shape":
        owner = node.value
    else:
        return _MISSING
    tensor = value_of(owner, scope)
    if not isinstance(tensor, torch.Tensor) or id(tensor) not in scope[_HELD]:
        return _MISSING
    if type(index) is int and -tensor.dim() <= index < tensor.dim():
        return tensor.shape[index]
    return tensor.numel()


def _numbers_in(node: ast.AST) -> list[int]:
    return [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and type(one.value) is int and one.value >= _LEAST
    ]
