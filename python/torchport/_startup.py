"""Virtual devices, set up before anything imports torch.

A line in a .pth file imports this module when TORCHPORT_VIRTUAL is set, in this process and in all
that inherit its environment: DataLoader workers, torchrun, subprocesses. torch itself is not
imported; a finder waits until the program does.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from types import ModuleType

VARIABLE = "TORCHPORT_VIRTUAL"


class _AroundTorch(importlib.abc.Loader):
    """Loads torch as ever, with the virtual devices in place before and after."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        from torchport.virtual import _loading

        _loading.before_torch(module)
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _loading.after_torch(module)

    def __getattr__(self, name: str):  # get_source and the like, for inspect and linecache
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Sees `import torch`, once, and the first import of torch.cuda within it."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name == "torch.cuda":
            from torchport.virtual import _loading

            _loading.before_cuda(sys.modules["torch"])
            return None
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _AroundTorch(spec.loader)
        return spec


def install() -> None:
    """Makes the next `import torch` one with virtual devices."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


if os.environ.get(VARIABLE):
    install()
