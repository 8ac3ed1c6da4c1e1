"""Adds the names to `torch._C` that a CPU build lacks, for virtual devices.

The modules torch.cuda, torch.xpu and torch.mps are not changed; they find the names that they call.
Each module of this package adds one part. ``KINDS`` lists its device kinds; a module without it is
for all kinds. A module since_MAJOR_MINOR is for the releases of torch from that one on, a module
until_MAJOR_MINOR for those up to it; what differs between releases is there, one file for each.
``bindings(torch)`` returns the names for torch._C as a dict. The optional
``finish(torch)`` runs after torch is imported.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from types import ModuleType

from torchport.virtual.torch_c_shim._native import kind


def _is_of_release(name: str) -> bool:
    """Whether a module is for this torch, by its name."""
    found = re.fullmatch(r"(since|until)_(\d+)_(\d+)", name)
    if found is None:
        return True
    from torch.version import __version__

    release = tuple(int(number) for number in __version__.split(".")[:2])
    named = (int(found[2]), int(found[3]))
    return release >= named if found[1] == "since" else release <= named


@functools.cache
def _parts() -> list[ModuleType]:
    names = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    # What is for some releases goes over what is for all.
    names.sort(key=lambda name: (name.startswith(("since_", "until_")), name))
    modules = [
        importlib.import_module(f"{__name__}.{name}") for name in names if _is_of_release(name)
    ]
    return [module for module in modules if kind() in getattr(module, "KINDS", (kind(),))]


def install(torch: ModuleType) -> None:
    for part in _parts():
        for name, value in part.bindings(torch).items():
            setattr(torch._C, name, value)


def finish(torch: ModuleType) -> None:
    for part in _parts():
        if hasattr(part, "finish"):
            part.finish(torch)
