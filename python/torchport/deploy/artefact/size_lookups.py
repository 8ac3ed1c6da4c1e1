"""What a model's code does with a size that a trace does not follow: it looks it up in a mapping, or asks for its bits,
its text or its whole part."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

MISSING = object()
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_LOOKS = frozenset(["get", "pop", "setdefault", "index", "__getitem__", "__contains__"])
_BISECTS = frozenset(["bisect", "bisect_left", "bisect_right", "searchsorted"])
_BITS = frozenset(
    ["bit_count", "bit_length", "to_bytes", "hash", "isqrt", "gcd", "lcm", "factorial"]
)
_TEXTS = frozenset(["str", "repr", "format", "bin", "hex", "oct"])
# A change of the size may change nothing of them, so that no other size need show that they are constants of a trace.
_STEPS = frozenset(["ceil", "floor", "trunc", "round"])
# Of a mapping with more numbers not all are tried.
_MOST_KEYS = 128


class Sizes:
    """The variables of a function that may be sizes: parameters that are integers, and what is computed of sizes."""

    def __init__(self, tree: ast.AST, scope: dict[str, Any]) -> None:
        self._scope = scope
        self._names: set[str] = {
            one.arg
            for node in ast.walk(tree)
            if isinstance(node, ast.arguments)
            for one in [*node.posonlyargs, *node.args, *node.kwonlyargs]
            if type(scope.get(one.arg)) is int
        }
        assigned = [
            (target, node.value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        before = -1
        while before != len(self._names):
            before = len(self._names)
            for target, value in assigned:
                if self.has(value):
                    self._names |= {
                        one.id
                        for one in ast.walk(target)
                        if isinstance(one, ast.Name) and _may_be_size(scope.get(one.id, MISSING))
                    }

    def has(self, node: ast.AST) -> bool:
        """Whether an expression is computed of a size."""
        return is_size(node) or any(
            isinstance(one, ast.Name) and one.id in self._names for one in ast.walk(node)
        )

    def looked_up(self, node: ast.AST) -> list[int] | None:
        """The sizes at which the expression may change; empty if they are not known, and none if it does nothing with
        a size that a trace does not follow."""
        if isinstance(node, ast.Compare):
            of = [isinstance(one, (ast.In, ast.NotIn)) for one in node.ops]
            if any(of) and self.has(node.left):
                return self._keys(node.comparators[-1], must_be_known=True)
        elif isinstance(node, ast.Subscript):
            if not isinstance(node.slice, ast.Slice) and self.has(node.slice):
                return self._keys(node.value, must_be_known=False)
        elif isinstance(node, ast.JoinedStr):
            values = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
            return [] if any(map(self.has, values)) else None
        elif isinstance(node, ast.Call):
            return self._of_call(node)
        return None

    def _of_call(self, call: ast.Call) -> list[int] | None:
        name = called(call)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        given = any(map(self.has, call.args))
        if name in _BITS:
            return [] if given or (owner is not None and self.has(owner)) else None
        if not given:
            return None
        if name in _TEXTS:
            return []
        if name in _BISECTS:
            return self._keys(call.args[0], must_be_known=True)
        if name in _LOOKS and owner is not None:
            return self._keys(owner, must_be_known=True)
        if name in _STEPS or (name == "int" and _divides(call)):
            numbers = [number for one in call.args for number in self._steps(one)]
            if MISSING in numbers:
                return []
            return _numbers(_whole(one) for one in numbers) or None
        return None

    def _steps(self, node: ast.AST) -> list[Any]:
        """The numbers with which a size is multiplied or divided, and MISSING for what is not known."""
        if isinstance(node, ast.BinOp):
            return [*self._steps(node.left), *self._steps(node.right)]
        if isinstance(node, ast.UnaryOp):
            return self._steps(node.operand)
        if isinstance(node, ast.Call) and called(node) in ("int", "float", *_STEPS):
            return [number for one in node.args for number in self._steps(one)] or [MISSING]
        if self.has(node):
            return []
        value = value_of(node, self._scope)
        return [value if type(value) in (int, float) else MISSING]

    def _keys(self, node: ast.AST, *, must_be_known: bool) -> list[int] | None:
        held = value_of(node, self._scope)
        if isinstance(held, (torch.Size, torch.Tensor, str)):
            return None
        if not isinstance(held, (Mapping, list, tuple, set, frozenset, range)):
            return [] if must_be_known else None
        if not must_be_known and not isinstance(held, Mapping):
            return None  # another size has another element, or none
        keys = _numbers(held)
        return [] if len(keys) > _MOST_KEYS else keys


def called(call: ast.Call) -> str:
    """The name of the function or the method that is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _whole(number: float) -> int:
    if 0 < number < 1:
        number = 1 / number
    return int(number) if number < 1 << 40 else 0


def _numbers(values: Iterable[Any]) -> list[int]:
    return [one for one in values if type(one) is int and one > 1]


def _may_be_size(value: Any) -> bool:
    return value is MISSING or type(value) in (int, float, str, torch.Size, tuple, list)


def _divides(node: ast.AST) -> bool:
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div) for one in ast.walk(node))


def is_size(node: ast.AST) -> bool:
    """Whether an expression takes a size of something."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr in ("shape", "size", "numel"))
        or (isinstance(one, ast.Name) and one.id == "len")
        for one in ast.walk(node)
    )


def value_of(node: ast.AST, scope: dict[str, Any]) -> Any:
    """The value of a name, of an attribute, or of arithmetic with them; MISSING if it is none of these."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        values = [value_of(one, scope) for one in node.elts]
        return MISSING if any(one is MISSING for one in values) else tuple(values)
    if isinstance(node, ast.Dict):
        keys = [value_of(one, scope) if one is not None else MISSING for one in node.keys]
        whole = all(isinstance(one, (int, str)) for one in keys)
        return dict.fromkeys(keys) if whole else MISSING
    if isinstance(node, ast.Name):
        return scope.get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, scope)
        if owner is MISSING or isinstance(owner, torch.Tensor):
            return MISSING
        return getattr(owner, node.attr, MISSING)
    if isinstance(node, ast.Subscript):
        owner, key = value_of(node.value, scope), value_of(node.slice, scope)
        if isinstance(owner, (dict, list, tuple)) and isinstance(key, (int, str)):
            try:
                return owner[key]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                return MISSING
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left, scope), value_of(node.right, scope)
        compute = _ARITHMETIC.get(type(node.op))
        if compute is not None and type(left) is int and type(right) is int:
            return compute(left, right)
    return MISSING
