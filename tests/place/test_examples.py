"""The examples in the docstrings of everything public run, and every public name has one."""

from __future__ import annotations

import ast
import doctest
import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
import torchport
from torchport import _quantities, build, pytest_plugin

pytestmark = [pytest.mark.devices(None), pytest.mark.usefixtures("own_folder")]


PUBLIC = {name: getattr(torchport, name) for name in torchport.__all__ if not name.startswith("_")}
PUBLIC |= {f"virtual.{n}": getattr(torchport.virtual, n) for n in ("enable", "enabled", "visible")}
PUBLIC |= {
    f"build.{name}": getattr(build, name)
    for name in ("Plan", "BuildRefused", "TorchExtension", "cmake_dir", "extension", "plan")
}
PUBLIC |= {
    f"backend.{name}": getattr(torchport.backend, name) for name in torchport.backend.__all__
}
PUBLIC["pytest_plugin.VirtualCuda"] = pytest_plugin.VirtualCuda
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


def doctests_of(name: str, value: Any) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(recurse=inspect.isclass(value))
    known = {"torch": torch, "torchport": torchport, "build": build}
    return finder.find(value, name, globs=known | vars(pytest_plugin))


def test_every_example_runs() -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for name, value in PUBLIC.items():
        for test in doctests_of(name, value):
            runner.run(test)
    for name in ("size", "counted"):
        function = getattr(_quantities, name)
        for test in doctest.DocTestFinder().find(function, name, globs=vars(_quantities)):
            runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 50, runner.tries


def test_every_function_has_the_sections_that_it_needs() -> None:
    assert len(FUNCTIONS) > 25, FUNCTIONS
    for name, function in FUNCTIONS.items():
        doc = inspect.getdoc(function) or ""
        signature = inspect.signature(function)
        assert "Example:" in doc, name
        if signature.return_annotation not in (None, "None", inspect.Signature.empty):
            assert "Returns:" in doc or "Yields:" in doc, name
        for parameter in signature.parameters:
            assert f"    {parameter}: " in doc, (name, parameter)
        assert doc.split("\n\n")[0].endswith("."), (name, "begins with a sentence")


def test_every_class_says_what_it_is() -> None:
    for name, value in PUBLIC.items():
        if inspect.isclass(value):
            doc = inspect.getdoc(value) or ""
            assert doc, name
            assert issubclass(value, Exception) or "Example:" in doc, name


def test_the_three_lists_of_names_agree() -> None:
    source = ast.parse(Path(torchport.__file__).read_text())
    block = next(node for node in source.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    submodules = {name for name, home in imported.items() if home == "torchport"}
    homes = {n: h.removeprefix("torchport.") for n, h in imported.items() if n not in submodules}
    assert homes == torchport._HOMES
    assert set(torchport.__all__) == set(imported) | {"__version__"}
    assert sorted(torchport.__all__) == dir(torchport)
