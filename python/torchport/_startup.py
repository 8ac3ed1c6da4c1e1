"""Sets up virtual devices before anything imports torch.

A line in a .pth file imports this module when TORCHPORT_VIRTUAL is set, in this process and in all
that inherit its environment: DataLoader workers, torchrun, subprocesses. torch itself is not
imported; a finder waits until the program does.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

VARIABLE = "TORCHPORT_VIRTUAL"

_WATCHED = (
    "torch",
    "torch.cuda",
    "torch.utils.cpp_extension",
    "torch._dynamo",
    "torch._inductor.codegen.common",
    "triton",
    "safetensors",
)
_Step = Callable[[ModuleType], None]


class _Around(importlib.abc.Loader):
    """Loads a module as usual, with an action before and after."""

    def __init__(self, loader: importlib.abc.Loader, before: _Step, after: _Step) -> None:
        self._loader = loader
        self._before = before
        self._after = after

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._before(module)
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._after(module)

    def __getattr__(self, name: str) -> Any:  # inspect and linecache call get_source and others
        return getattr(self._loader, name)


def _around(name: str, loader: importlib.abc.Loader) -> _Around:
    from torchport.virtual import _loading, compiling
    from torchport.virtual.without_data import safetensors_files

    if name == "torch":
        return _Around(loader, _loading.before_torch, _loading.after_torch)
    after = {
        "triton": _loading.after_triton,
        "torch._dynamo": _loading.after_dynamo,
        "torch.utils.cpp_extension": _loading.after_cpp_extension,
        "torch._inductor.codegen.common": compiling.install,
        "safetensors": safetensors_files.install,
    }
    return _Around(loader, lambda _: None, after[name])


class _Finder(importlib.abc.MetaPathFinder):
    """Wraps the loaders of torch, torch.cuda, Triton, safetensors, and what compiles code."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if not name.startswith(("s", "t")) or name not in _WATCHED:
            return None
        from torchport.virtual import _loading

        if name == "torch.cuda":
            _loading.before_cuda(sys.modules["torch"])
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _around(name, spec.loader)
        return spec


def install() -> None:
    """Makes the next `import torch` set up virtual devices."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


# `torchport.virtual` imports this module, too, perhaps after torch, when it is too late.
if os.environ.get(VARIABLE) and "torch" not in sys.modules:
    install()
