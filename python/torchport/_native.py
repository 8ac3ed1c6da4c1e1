"""Loads torchport._C, the bindings of libtorchport, after torch is imported."""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["C"]


def _load() -> ModuleType:
    import torch

    from torchport import _runtimes

    path = _runtimes.find(_runtimes.Torch.at(Path(torch.__file__).parent)) / "_C.so"
    loader = ExtensionFileLoader("torchport._C", str(path))
    spec = spec_from_loader("torchport._C", loader)
    assert spec is not None  # a loader was given
    module = module_from_spec(spec)
    loader.exec_module(module)
    sys.modules["torchport._C"] = module
    return module


if TYPE_CHECKING:
    from torchport import _C as C
else:
    C = _load()
