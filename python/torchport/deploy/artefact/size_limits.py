"""The numbers with which a model's code compares: a trace keeps the way that the sizes of the sample led to, so that
other sizes are tried on both sides of each.

The functions that one run calls are read. A number is a constant, an attribute of the model or of its configuration,
or a variable, which is taken as it was when the function ended.
"""

from __future__ import annotations

import ast
import inspect
import operator
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn

from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.state import kept
from torchport.deploy.artefact.user_lines import is_users

_LEAST, _MOST = 2, 1 << 40
# Functions whose numbers decide how often something is done, or what is taken.
_CALLS = frozenset(["range", "split", "tensor_split", "islice", "min", "max", "divmod"])
_STEPS = (ast.Mod, ast.FloorDiv)
_MISSING = object()
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


@dataclass
class Limits:
    """``numbers`` has the lines (FILE:LINE) by number. ``unknown`` are lines that compare a size with what was not
    found."""

    numbers: dict[int, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def add(self, number: Any, line: str) -> None:
        if type(number) is int and _LEAST <= number <= _MOST:
            self.numbers.setdefault(number, line)


def limits_of(module: nn.Module, sample: Sample) -> Limits:
    """Runs the model once, and restores it."""
    ends: dict[CodeType, list[dict[str, Any]]] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and is_users(frame.f_code):
            known = ends.setdefault(frame.f_code, [])
            if len(known) < 4:  # of several modules of a class
                known.append({**frame.f_globals, **frame.f_locals, _LOCALS: set(frame.f_locals)})

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


def _read(code: CodeType, scope: dict[str, Any], limits: Limits) -> None:
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return
    for node in ast.walk(tree):
        operands = list(_operands(node))
        if not operands:
            continue
        line = f"{Path(code.co_filename).name}:{first + node.lineno - 1}"  # type: ignore[attr-defined]
        if any(_is_local(one, scope) for one in operands):
            _compare(operands, scope, line, limits)


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for one in [node.left, *node.comparators]:
            yield from one.elts if isinstance(one, (ast.Tuple, ast.List, ast.Set)) else [one]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _STEPS):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _CALLS:
            yield from [*node.args, *(one.value for one in node.keywords)]
            if isinstance(node.func, ast.Attribute):
                yield node.func.value


def _compare(operands: list[ast.expr], scope: dict[str, Any], line: str, limits: Limits) -> None:
    values = [_value(one, scope) for one in operands]
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
    if not found and any(_is_size(one) for one in operands) and len(operands) > 1:
        others = [one for one in operands if not _is_size(one)]
        if any(
            value is _MISSING for one, value in zip(operands, values, strict=True) if one in others
        ):
            limits.unknown.append(line)


def _is_local(node: ast.AST, scope: dict[str, Any]) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id in scope[_LOCALS] and one.id != "self"
        for one in ast.walk(node)
    )


def _is_size(node: ast.AST) -> bool:
    return any(
        (isinstance(one, ast.Attribute) and one.attr in ("shape", "size", "numel"))
        or (isinstance(one, ast.Name) and one.id == "len")
        for one in ast.walk(node)
    )


def _numbers_in(node: ast.AST) -> list[int]:
    return [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and type(one.value) is int and one.value >= _LEAST
    ]


def _value(node: ast.AST, scope: dict[str, Any]) -> Any:
    """The value of a name, of an attribute, or of arithmetic with them; _MISSING if it is none of these."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return scope.get(node.id, _MISSING)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, scope)
        if owner is _MISSING or isinstance(owner, torch.Tensor):
            return _MISSING
        return getattr(owner, node.attr, _MISSING)
    if isinstance(node, ast.Subscript):
        owner, key = _value(node.value, scope), _value(node.slice, scope)
        if isinstance(owner, (dict, list, tuple)) and isinstance(key, (int, str)):
            try:
                return owner[key]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                return _MISSING
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, scope), _value(node.right, scope)
        compute = _ARITHMETIC.get(type(node.op))
        if compute is not None and type(left) is int and type(right) is int:
            return compute(left, right)
    return _MISSING
