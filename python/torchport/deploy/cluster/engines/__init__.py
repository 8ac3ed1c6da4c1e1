"""What starts workers on other machines, one per file. A new file with an ``ENGINE`` adds one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchport.deploy.cluster.engines._engine import ClusterEngine


def names() -> list[str]:
    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def get(name: str) -> ClusterEngine:
    """The engine with this name, which is one of `names`."""
    found: ClusterEngine = import_module(f"{__name__}.{name}").ENGINE
    return found
