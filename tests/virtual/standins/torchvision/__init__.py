"""So much of torchvision as `import timm` asks for: there is no torchvision for a CPU-only test.

Transforms and data sets are names only; whoever calls one is told so.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.0.0"


class Absent:
    """A class by name; it can be a base, not an object."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(f"the stand-in for torchvision has no {type(self).__name__}")


def absent(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Absent,), {})
