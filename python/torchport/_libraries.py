"""The location of torchport's own libraries and tables: `lib/torchport` of the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def find(name: str) -> Path:
    """Returns the path of the file `name` in lib/torchport.

    Raises:
        ImportError: The environment does not have the file.
    """
    if chosen := os.environ.get("TORCHPORT_LIBRARY"):  # the folder of another build
        return Path(chosen) / name
    installed = Path(sys.prefix, "lib", "torchport")
    for folder in (installed, Path(__file__).parent / "lib"):
        if (folder / name).is_file():
            return folder / name
    raise ImportError(
        f"torchport: {name} is missing from {installed}; reinstall torchport in an environment "
        "that has torch"
    )
