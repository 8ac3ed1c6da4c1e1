"""The end of the process (src/virtual/leaving.h)."""

from __future__ import annotations

import atexit
from types import ModuleType
from typing import Any


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}


def finish(torch: ModuleType) -> None:
    native = torch.ops.torchport

    def leave() -> None:
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():  # of a program that ends within one
            native.wait_for_autograd()

    if hasattr(native, "wait_for_autograd"):
        atexit.register(leave)
