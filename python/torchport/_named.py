"""Objects that a command line names: ``package.module:name`` or ``path/to/file.py:name``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any


class NotFound(ValueError):
    """The named object does not exist; the message lists what does."""


def find(spec: str) -> Any:
    """Returns the object that ``spec`` names. Like ``python -m``, it searches this folder first.

    Raises NotFound if the module or the name is missing. Errors that the module raises during its
    import are passed on.
    """
    place, colon, name = spec.rpartition(":")
    if not colon or not place or not name:
        raise NotFound(f"{spec!r} is not MODULE:NAME, such as models.resnet:make_model")
    module = from_file(Path(place)) if place.endswith(".py") else _from_path(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            offered = [key for key in vars(module) if not key.startswith("_")]
            raise NotFound(f"{place} has no {name!r}; it has {', '.join(offered) or 'nothing'}")
        found = getattr(found, part)
    return found


def _from_path(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise  # the module was found, but something that it imports was not
        raise NotFound(f"there is no module {name!r} in this folder or on sys.path") from None


def from_file(path: Path) -> ModuleType:
    """Imports a file as a module; its own imports are searched in its folder. Raises NotFound."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    sys.path.insert(0, str(path.absolute().parent))  # for the imports of the file
    loader = SourceFileLoader(path.stem, str(path))
    spec = importlib.util.spec_from_loader(path.stem, loader)
    assert spec is not None  # a loader was given
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    loader.exec_module(module)
    return module
