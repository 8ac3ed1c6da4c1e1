"""Where the gate keeps things between clones, as a compiler cache does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def folder(environment: Mapping[str, str], variable: str, name: str) -> Path:
    """The folder that the variable names, or this one of torchport's in the user's cache."""
    cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(environment.get(variable) or Path(cache, "torchport", name))
