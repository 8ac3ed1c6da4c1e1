"""Which names are bound at a line of the program, and which files are libraries."""

from __future__ import annotations

import ast
import linecache
import sysconfig
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType

_PACKAGES = ("site-packages", "dist-packages")
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def library_of(file: str) -> str:
    """The name of the installed library that a file belongs to ("transformers"), "python" for the
    standard library; empty for a file of the program."""
    parts = Path(file).parts
    for index in range(len(parts) - 2, -1, -1):
        if parts[index] in _PACKAGES:
            return parts[index + 1].removesuffix(".py")
    standard = sysconfig.get_path("stdlib")
    return "python" if file.startswith((standard + "/", "<frozen")) else ""


@dataclass(frozen=True)
class Scope:
    """The function around a line. ``first`` is its first line, as in its code (that of its first
    decorator); ``stores`` has the lines on which each name is assigned."""

    function: str
    first: int
    parameters: tuple[str, ...] = ()
    stores: dict[str, list[int]] = field(default_factory=dict)

    def is_of(self, file: str, code: CodeType) -> bool:
        """Whether ``code`` is this function, in ``file``."""
        return (code.co_filename, code.co_name, code.co_firstlineno) == (
            file,
            self.function,
            self.first,
        )

    def keeps(self, name: str, line: int) -> bool:
        """Whether a name is bound at ``line`` and keeps its value until the function ends."""
        lines = self.stores.get(name, [])
        if any(stored > line for stored in lines):
            return False
        return name in self.parameters or any(stored < line for stored in lines)


@lru_cache(maxsize=32)
def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file of the program; None if there is no source."""
    lines = linecache.getlines(file)
    return _tree("".join(lines)) if lines else None


def _parameters(node: _Function) -> tuple[str, ...]:
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return tuple(one.arg for one in [*named, given.vararg, given.kwarg] if one is not None)


def _stores(node: _Function) -> dict[str, list[int]]:
    """The lines that assign or delete each local name. Functions inside are not searched."""
    found: dict[str, list[int]] = {}
    body = node.body if isinstance(node.body, list) else [node.body]
    waiting: list[ast.AST] = list(body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            found.setdefault(part.id, []).append(part.lineno)
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(part))
    return found


def _covers(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def scope_at(file: str, line: int) -> Scope | None:
    """The innermost named function around a line; None outside of functions or without source."""
    tree = tree_of(file)
    if tree is None:
        return None
    found: Scope | None = None
    waiting: list[ast.AST] = [tree]
    while waiting:  # a function inside another one is found after it
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found = Scope(node.name, first, _parameters(node), _stores(node))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.stmt)) and not _covers(child, line):
                continue
            waiting.append(child)
    return found
