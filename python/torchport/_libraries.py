"""The location of torchport's own libraries and tables: the folder ``lib`` of the package."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """The folder of the native files: the package's own, or that of another build."""
    if chosen := os.environ.get("TORCHPORT_LIBRARY"):
        return Path(chosen)
    return Path(__file__).parent / "lib"


def find(name: str) -> Path:
    """Returns the path of the file ``name``, which does not depend on torch.

    Raises:
        ImportError: The installation does not have the file.
    """
    path = folder() / name
    if not path.is_file():
        raise ImportError(f"torchport: {path} is missing; install torchport again")
    return path
