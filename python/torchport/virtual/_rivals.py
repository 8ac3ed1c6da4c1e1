"""Keeps other packages away from the hooks of torch that virtual devices use.

A backend outside of torch claims the dispatch key PrivateUse1, a device guard and an accelerator. torch
imports such packages by itself at the end of `import torch` (the entry points `torch.backends`). A process
with both would have devices that are half virtual.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from types import ModuleType

NAMES = (
    "torch_npu",
    "intel_extension_for_pytorch",
    "habana_frameworks",
    "torch_musa",
    "torch_mlu",
)
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_before: list[str | None] = []


class _Refusal(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages, but does not import them. So a program that asks whether a package is
    installed, and one that guards its import, go on."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name not in NAMES:
            return None
        for finder in sys.meta_path:
            if finder is not self and finder.find_spec(name, path, target) is not None:
                return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return None

    def exec_module(self, module: ModuleType) -> None:
        raise ImportError(
            f"torchport: {module.__name__} cannot be imported beside virtual devices, because both "
            "use the same hooks of torch. Run this program without torchport",
            name=module.__name__,
        )


def refuse() -> None:
    """Called before torch is imported."""
    if not any(isinstance(finder, _Refusal) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Refusal())
    _before.append(os.environ.get(_AUTOLOAD))
    os.environ[_AUTOLOAD] = "0"


def restore() -> None:
    """Called after torch is imported: processes that this one starts get the user's own setting."""
    while _before:
        value = _before.pop()
        os.environ.pop(_AUTOLOAD)
        if value is not None:
            os.environ[_AUTOLOAD] = value
