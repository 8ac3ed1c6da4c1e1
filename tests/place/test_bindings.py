"""torchport._C against _C.pyi: every name, and the names and defaults of every argument."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
import torch
import torchport
from torchport._native import C

pytestmark = pytest.mark.devices(None)


STUB = ast.parse((Path(torchport.__file__).parent / "_C.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
# What pybind11 gives to every enumeration.
OF_ENUMERATIONS = {"__init__", "__int__", "__index__", "name", "value"}


def declared(node: ast.FunctionDef) -> list[tuple[str, bool]]:
    """(argument, whether it has a default)"""
    arguments = [a.arg for a in node.args.args if a.arg != "self"]
    first = len(arguments) - len(node.args.defaults)
    return [(name, number >= first) for number, name in enumerate(arguments)]


def bound(doc: str) -> list[tuple[str, bool]]:
    """The same out of pybind11's signature, the first line of a function's documentation."""
    inside = doc[doc.index("(") + 1 : doc.index(") ->")]
    parts = re.split(r",\s*(?=\w+: )", inside) if inside else []
    found = [(part.partition(":")[0], " = " in part) for part in parts]
    return [one for one in found if one[0] != "self"]


def returned(doc: str) -> str:
    return doc.partition(") -> ")[2].strip().replace("torchport._C.", "")


def members(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_same_names() -> None:
    there = {name for name in vars(C) if not name.startswith("_")}
    assert there == set(CLASSES) | set(FUNCTIONS), there ^ (set(CLASSES) | set(FUNCTIONS))


def test_functions_take_the_same_arguments() -> None:
    for name, node in FUNCTIONS.items():
        doc = getattr(C, name).__doc__
        assert bound(doc) == declared(node), name
        assert node.returns and returned(doc) == ast.unparse(node.returns), (name, doc)


def test_classes_have_the_same_members() -> None:
    for name, node in CLASSES.items():
        kind = getattr(C, name)
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        values = {
            part.target.id
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        }
        public = {part for part in methods if not part.startswith("_")} | values
        assert members(kind) == public, (name, members(kind) ^ public)
        for method, part in methods.items():
            is_property = any(
                isinstance(d, ast.Name) and d.id == "property" for d in part.decorator_list
            )
            has = getattr(kind, method)
            if is_property:
                assert isinstance(has, property) or method in OF_ENUMERATIONS, (name, method)
                told = ast.unparse(part.returns) if part.returns else ""
                assert values or returned(has.fget.__doc__) == told, (name, method)
            elif not (method in OF_ENUMERATIONS and values):
                assert bound(has.__doc__) == declared(part), (name, method)


def test_this_torch_has_the_wrappers() -> None:
    for name, attribute in C.wrapped_attributes().items():
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(import_module(module), kind), torch.nn.Module), name
        assert attribute.isidentifier(), name


def test_what_cannot_be_made_in_python_has_no_constructor() -> None:
    for name, node in CLASSES.items():
        has = any(isinstance(p, ast.FunctionDef) and p.name == "__init__" for p in node.body)
        try:
            getattr(C, name)()
        except TypeError as error:
            assert has != ("No constructor defined" in str(error)), (name, error)
