"""The export formats, one per file. A new file with a ``FORMAT`` adds a format."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchport.deploy.artefact.formats._format import Format


def names() -> list[str]:
    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def get(name: str) -> Format:
    """Returns the format with this name. Raises ValueError if there is none."""
    if name not in names():
        raise ValueError(f"there is no format {name!r}; choose from {', '.join(names())}")
    found: Format = import_module(f"{__name__}.{name}").FORMAT
    return found
