"""Which pointers a kernel may store through, found in its source: what it only loads from keeps its values
when a launch is not run on devices without data.

Names that a pointer goes to are followed through assignments, without regard to the order of lines, and into
other kernels that are called. What is not understood counts as a store.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import Any

from torchport.virtual.triton_kernels import programs

_LOADS = ("load", "load_tensor_descriptor", "experimental_descriptor_load", "gather")
_STORES = ("store", "store_tensor_descriptor", "experimental_descriptor_store", "scatter")
_UNKNOWN = object()


def stored(kernel: Any) -> set[str] | None:
    """The names of parameters that a kernel (a JITFunction) may store through; none if its source cannot
    be read. It is found once for each state of the source."""
    held = kernel.__dict__.get("_torchport_stored")
    if held is None or held[0] != kernel.src:
        # A kernel that calls itself may store through all meanwhile.
        kernel.__dict__["_torchport_stored"] = (kernel.src, None)
        held = (kernel.src, _found(kernel))
        kernel.__dict__["_torchport_stored"] = held
    return held[1]  # type: ignore[no-any-return]


def _found(kernel: Any) -> set[str] | None:
    try:
        tree = ast.parse(textwrap.dedent(kernel.src))
    except SyntaxError:
        return None
    body = next(one for one in tree.body if isinstance(one, ast.FunctionDef))
    flow = _Flow(body, {**kernel.fn.__globals__, **programs.captured(kernel.fn)})
    names = [one.name for one in kernel.params]
    return {name for name in names if flow.stores_through(name)}


class _Flow:
    """Where the value of a parameter goes in a kernel."""

    def __init__(self, body: ast.FunctionDef, known: dict[str, Any]) -> None:
        self._known = known
        self._assigned = list(_assignments(body))
        self._calls = [one for one in ast.walk(body) if isinstance(one, ast.Call)]
        self._returned = [
            one.value for one in ast.walk(body) if isinstance(one, ast.Return) and one.value
        ]
        self._holders: set[str] = set()

    def stores_through(self, parameter: str) -> bool:
        self._holders = {parameter}
        while True:
            more = {
                name
                for names, value in self._assigned
                if self._holds(value)
                for name in names
                if name not in self._holders
            }
            if not more:
                break
            self._holders |= more
        if any(self._holds(one) for one in self._returned):
            return True  # what its caller does with it is not followed
        return any(self._is_store(one) for one in self._calls)

    def _holds(self, node: ast.AST) -> bool:
        """Whether an expression may have an address that comes from the parameter."""
        if isinstance(node, ast.Name):
            return node.id in self._holders
        if isinstance(node, ast.Compare):
            return False
        if isinstance(node, ast.Call) and self._name_of(node) in _LOADS:
            return False
        return any(self._holds(one) for one in ast.iter_child_nodes(node))

    def _is_store(self, call: ast.Call) -> bool:
        given = [*call.args, *(one.value for one in call.keywords)]
        target = call.func.value if isinstance(call.func, ast.Attribute) else None
        if target is not None and self._holds(target):  # ptr.to(...), descriptor.store(...)
            name = call.func.attr  # type: ignore[attr-defined]
            return name in _STORES or name.startswith("atomic_")
        if not any(self._holds(one) for one in given):
            return False
        called = self._called(call.func)
        if hasattr(called, "params") and hasattr(called, "src"):
            return self._is_stored_by(called, call)
        if not str(getattr(called, "__module__", "")).startswith("triton."):
            return called not in (range, print, min, max, float, int)
        name = self._name_of(call)
        if name in _STORES or name.startswith("atomic_"):
            # A pointer may be stored as a value, and found there by another kernel.
            return True
        return "inline_asm" in name

    def _is_stored_by(self, kernel: Any, call: ast.Call) -> bool:
        inner = stored(kernel)
        if inner is None or any(isinstance(one, ast.Starred) for one in call.args):
            return True
        names = [one.name for one in kernel.params]
        pairs = [*zip(names, call.args, strict=False)]
        pairs += [(one.arg or "", one.value) for one in call.keywords]
        return any((name in inner or not name) and self._holds(value) for name, value in pairs)

    def _called(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            builtins = {one.__name__: one for one in (range, print, min, max, float, int)}
            return self._known.get(node.id, builtins.get(node.id, _UNKNOWN))
        if isinstance(node, ast.Attribute):
            owner = self._called(node.value)
            return _UNKNOWN if owner is _UNKNOWN else getattr(owner, node.attr, _UNKNOWN)
        return _UNKNOWN

    def _name_of(self, call: ast.Call) -> str:
        if isinstance(call.func, ast.Attribute):
            return call.func.attr
        return getattr(self._called(call.func), "__name__", "")


def _assignments(body: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    """The names that get a value, and the value."""
    for one in ast.walk(body):
        if isinstance(one, ast.Assign):
            targets: list[ast.AST] = [*one.targets]
            value: ast.AST | None = one.value
        elif isinstance(one, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            targets, value = [one.target], one.value
        elif isinstance(one, (ast.For, ast.comprehension)):
            targets, value = [one.target], one.iter
        else:
            continue
        if value is not None:
            names = {
                part.id
                for target in targets
                for part in ast.walk(target)
                if isinstance(part, ast.Name)
            }
            yield names, value
