"""Packages whose parts are one module each: a new module adds a part, and no list names it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def names_in(path: Iterable[str]) -> list[str]:
    """The parts of the package with this ``__path__``. A module that begins with _ is none."""
    return [module.name for module in iter_modules(path) if not module.name.startswith("_")]


def part_of(package: str, path: Iterable[str], name: str, what: str) -> Any:
    """What the part defines by the name ``what`` in capitals: a "format" its FORMAT. ValueError if
    there is no such part."""
    known = names_in(path)
    if name not in known:
        raise ValueError(f"there is no {what} {name!r}; choose from {', '.join(known)}")
    return getattr(import_module(f"{package}.{name}"), what.upper())
