"""The parts of python/torchport, and which part uses which: read from their imports.

A part is a folder or a module at the top. Imports inside of functions count, and so does a name in a
string, because the package loads much of itself when it is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from gate.layers import closure

TOP = "python/torchport/"
# It only loads others when they are used, so that what changes in them changes nothing in its users.
FACADE = "__init__"
# Files that a layer of C++ writes, and the part that reads them or calls the layer.
READS_LAYERS = {"_native": ("src/bindings",), "_device_kinds": ("src/devices",)}
DOTTED = re.compile(r"\btorchport((?:\.\w+)+)")


def part_of(path: str) -> str:
    """`virtual` of python/torchport/virtual/planning.py, `_walk` of python/torchport/_walk.py."""
    inside = path.removeprefix(TOP)
    return inside.partition("/")[0] if "/" in inside else inside.removesuffix(".py")


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The dotted names that the nodes of a module import, take of another one or name in a string."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {match.group() for match in DOTTED.finditer(node.value)}
    return found


def named_parts(names: Iterable[str]) -> set[str]:
    """The parts of torchport among dotted names."""
    words = [name.split(".") for name in names]
    return {word[1] for word in words if word[0] == "torchport" and len(word) > 1}


class Parts:
    """The parts of the Python package of a tree, of which `files` are all paths."""

    def __init__(self, root: Path, files: Iterable[str]):
        own = [path for path in files if path.startswith(TOP)]
        self.names = {part_of(path) for path in own}
        data = {path.rpartition("/")[2]: part_of(path) for path in own if not path.endswith(".py")}
        self.uses: dict[str, set[str]] = {name: set() for name in self.names}
        for path in own:
            if path.endswith(".py"):
                text = (root / path).read_text(encoding="utf-8")
                used = named_parts(imported(ast.walk(ast.parse(text)))) & self.names
                used |= {part for name, part in data.items() if name in text}
                self.uses[part_of(path)] |= used - {part_of(path)}
        self.dependents: dict[str, set[str]] = {}
        for name, used in self.uses.items():
            for one in used if name != FACADE else ():
                self.dependents.setdefault(one, set()).add(name)

    def above(self, names: Iterable[str]) -> dict[str, str]:
        """These parts and all that use them."""
        return closure(names, self.dependents)
