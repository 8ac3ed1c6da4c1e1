"""Adds the names to `torch._C` that a CPU build lacks, for virtual devices.

The modules torch.cuda, torch.xpu and torch.mps are not changed; they find the names that they call.
Each module of this package adds one part. ``KINDS`` lists its device kinds; a module without it is
for all kinds. ``bindings(torch)`` returns the names for torch._C as a dict. The optional
``finish(torch)`` runs after torch is imported.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType

from torchport.virtual.torch_c_shim._native import kind


@functools.cache
def _parts() -> list[ModuleType]:
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [module for module in modules if kind() in getattr(module, "KINDS", (kind(),))]


def install(torch: ModuleType) -> None:
    for part in _parts():
        for name, value in part.bindings(torch).items():
            setattr(torch._C, name, value)


def finish(torch: ModuleType) -> None:
    for part in _parts():
        if hasattr(part, "finish"):
            part.finish(torch)
