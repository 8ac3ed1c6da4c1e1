"""What the cases of the rules' pages lack to run: modules, files, arguments, extensions."""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import inspect
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    """A network that takes anything, and whose result depends on its first tensor."""

    def __init__(self, *_: Any, **__: Any):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.steps = 0

    def forward(self, *inputs: Any, **named: Any) -> torch.Tensor:
        for one in [*inputs, *named.values()]:
            if isinstance(one, torch.Tensor):
                return one.float() * self.scale
        return self.scale * 1.0

    def load_state_dict(self, *_: Any, **__: Any) -> None:
        """Takes any state."""


class Extension:
    """A compiled module: each of its functions returns its first tensor."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *inputs, **_: next(x for x in inputs if isinstance(x, torch.Tensor)) * 1.0


class Module(types.ModuleType):
    """A module that nobody installed: its classes are networks, and so is what its functions return."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper():
            return Net
        return getattr(Extension(), name) if "cuda" in self.__name__ else lambda *_, **__: Net()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module that no other finder found."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        known = name.partition(".")[0] in ("torch", "torchport", "numpy", "_pytest", "pytest")
        missing = "cuda" in name and not torch.cuda.is_available()
        return (
            None
            if known or missing
            else importlib.machinery.ModuleSpec(name, self, is_package=True)
        )

    def create_module(self, spec: Any) -> types.ModuleType:
        return Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


def loader() -> DataLoader:
    return DataLoader([(torch.full((4,), float(i)), i % 2) for i in range(4)], batch_size=2)


def value_of(name: str, annotation: Any = None) -> Any:
    """An argument for a parameter of this name."""
    word = name.lower()
    if annotation is int or word in ("n", "size", "k", "epoch", "gpu", "rank", "step", "index"):
        return 2 if "rank" not in word and "gpu" not in word else 0
    if "loader" in word or word in ("batches", "dataset", "data"):
        return loader()
    if any(part in word for part in ("model", "net", "encoder", "module")):
        return Net().to("cuda" if torch.cuda.is_available() else "cpu")
    if "device" in word:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if word in ("args", "opt", "cfg", "config", "hparams"):
        return argparse.Namespace(gpu=0, device="cuda", size=4, lr=0.1, name="x", checkpoint="x")
    if "path" in word or "file" in word or "name" in word or "folder" in word:
        return "model.pt"
    if "optim" in word:
        return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.arange(8.0, device=where).view(2, 4)


def arguments_of(function: Any) -> list[Any]:
    return [
        value_of(name, parameter.annotation)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError("the tests start no processes")


def compile_extension(*_: Any, **__: Any) -> Extension:
    if not torch.cuda.is_available():
        raise OSError("CUDA_HOME environment variable is not set")
    return Extension()


@contextmanager
def standing_in() -> Iterator[None]:
    """While it lasts, everything that a case lacks is there, and nothing is written or started."""
    finder = Finder()
    patches = [
        mock.patch("torch.load", lambda *_, **__: Net()),
        mock.patch("torch.save", lambda *_, **__: None),
        mock.patch("torch.multiprocessing.spawn", refuse),
        mock.patch("torch.utils.cpp_extension.load", compile_extension),
        mock.patch("torch.utils.cpp_extension.load_inline", compile_extension),
        mock.patch("torch.distributed.init_process_group", refuse),
        mock.patch.object(sys, "argv", ["train.py"]),
        mock.patch.dict(os.environ),
    ]
    modules = set(sys.modules)
    for patch in patches:
        patch.start()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for patch in reversed(patches):
            patch.stop()
        for name in set(sys.modules) - modules:
            if isinstance(sys.modules[name], Module):
                del sys.modules[name]
