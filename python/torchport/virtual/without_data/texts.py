"""Where a number goes that became a text: a text that is shown decides nothing, and one that names an attribute, a key
or a module, or that is read again, does.

`flow` is the flow of the number itself, in `uses.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Protocol

from torchport.virtual.without_data.known_calls import KEPT, called

_MAKE = {"str", "repr", "format", "dumps", "ascii", "hex", "bin", "chr", "oct"}
_METHODS = {
    *("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "replace", "zfill"),
    *("join", "split", "rsplit", "partition", "rpartition", "encode", "decode", "removeprefix"),
    *("removesuffix", "splitlines", "ljust", "rjust", "center"),
}
# What a text names or is run as.
_NAMED = {
    *("getattr", "hasattr", "eval", "exec", "import_module", "__import__", "attrgetter"),
    *("methodcaller", "get_submodule", "get_parameter", "get_buffer", "get", "pop", "index"),
}
# They make numbers of a text.
BACK = {"loads", "literal_eval", "int", "float", "len", "ord", "find", "count", "safe_load"}


class Flow(Protocol):
    """The flow of the number that the texts show."""

    texts: set[str]
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
    owners: dict[int, str]

    def has(self, node: ast.AST, first: bool) -> bool:
        """Whether the number is in an expression's value."""


class DecidesError(Exception):
    """The text decides what the program does."""


def is_text(flow: Flow, node: ast.AST | None, first: bool) -> bool:
    """Whether an expression's value is a text with the number in it, or has such a text."""

    def any_of(nodes: Iterable[ast.AST | None]) -> bool:
        return any([is_text(flow, one, first) for one in nodes])

    if isinstance(node, ast.Name):
        return node.id in flow.texts
    if isinstance(node, ast.Attribute):
        return node.attr in flow.texts
    if isinstance(node, ast.JoinedStr):
        values = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        return any_of(values) or any([flow.has(one, first) for one in values])
    if isinstance(node, ast.Call):
        return _of_call(flow, node, first)
    if isinstance(node, ast.BinOp):
        shows = isinstance(node.op, ast.Mod) and _is_constant(node.left)
        return any_of([node.left, node.right]) or (shows and flow.has(node.right, first))
    if isinstance(node, ast.IfExp):
        return any_of([node.body, node.orelse])
    if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
        return is_text(flow, node.value, first)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return is_text(flow, node.elt, first)
    if isinstance(node, ast.Dict):
        return any_of([*node.keys, *node.values])
    return isinstance(node, (ast.Tuple, ast.List, ast.Set)) and any_of(node.elts)


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _of_call(flow: Flow, call: ast.Call, first: bool) -> bool:
    name = called(call)
    texts = [is_text(flow, one, first) for one in _given(call)]
    if name in _MAKE:
        return any(texts) or any([flow.has(one, first) for one in _given(call)])
    if name in _METHODS and isinstance(call.func, ast.Attribute):
        return any(texts) or is_text(flow, call.func.value, first)
    return name in flow.texts


def is_read_again(flow: Flow, call: ast.Call, first: bool) -> bool:
    """Whether a call makes a number of a text."""
    if called(call) not in BACK:
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return any([is_text(flow, one, first) for one in [*_given(call), owner]])


def follow(flow: Flow, statement: ast.stmt, parts: Iterable[ast.AST], first: bool) -> None:
    """Follows the texts through a statement, whose own expressions are `parts`. Raises DecidesError."""
    for part in parts:
        for node in ast.walk(part):
            _use(flow, node, first)
    if isinstance(statement, ast.Match) and is_text(flow, statement.subject, first):
        raise DecidesError
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if is_text(flow, statement.value, first):
            flow.texts.update(_names(targets))
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        if is_text(flow, statement.iter, first):
            flow.texts.update(_names([statement.target]))
    elif isinstance(statement, ast.Return) and is_text(flow, statement.value, first):
        flow.texts.add(flow.owners.get(id(statement), ""))


def _use(flow: Flow, node: ast.AST, first: bool) -> None:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        if is_text(flow, node.slice, first):
            raise DecidesError
    elif isinstance(node, (ast.NamedExpr, ast.comprehension)):
        value = node.value if isinstance(node, ast.NamedExpr) else node.iter
        if is_text(flow, value, first):
            flow.texts.update(_names([node.target]))
    elif isinstance(node, ast.Call):
        name = called(node)
        wanted = name in _NAMED or name in flow.functions or name in KEPT
        if not wanted or not any([is_text(flow, one, first) for one in _given(node)]):
            return
        if name in _NAMED:
            raise DecidesError
        if name in flow.functions:
            taken = flow.functions[name].args
            flow.texts.update(one.arg for one in [*taken.args, *taken.kwonlyargs])
        elif isinstance(node.func, ast.Attribute):
            flow.texts.update(_names([node.func.value]))


def _names(targets: Iterable[ast.AST]) -> Iterator[str]:
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from _names(target.elts)
        elif isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Attribute):
            yield target.attr
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            yield from _names([target.value])
