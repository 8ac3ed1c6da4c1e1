"""The servers that an artefact can be laid out for, one per file. A new file with a ``SERVER`` adds
one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchport.deploy.artefact.servers._server import Server


def names() -> list[str]:
    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def get(name: str) -> Server:
    """Returns the server with this name. Raises ValueError if there is none."""
    if name not in names():
        raise ValueError(f"there is no server {name!r}; choose from {', '.join(names())}")
    found: Server = import_module(f"{__name__}.{name}").SERVER
    return found
