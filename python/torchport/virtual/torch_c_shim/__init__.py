"""The names of `torch._C` that a CPU build lacks, for virtual devices.

torch.cuda, torch.xpu and torch.mps themselves are left as they are; they find what they call. Each
module here answers for one part: ``KINDS`` says for which kinds of device, and one without it is for
all; ``bindings(torch)`` gives a dict of names for torch._C, and one with something to do once torch
is there has a ``finish(torch)``.
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
