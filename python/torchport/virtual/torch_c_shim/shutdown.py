"""The end of the process (src/runtime/virtual/core/shutdown.h)."""

from __future__ import annotations

import atexit
import ctypes
from types import ModuleType
from typing import Any


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}


def finish(torch: ModuleType) -> None:
    # It runs no Python: what a program that ends by Ctrl-C is to say of itself, the interpreter
    # forgets when more is run.
    atexit.register(ctypes.CDLL(None).torchport_wait_for_autograd)
