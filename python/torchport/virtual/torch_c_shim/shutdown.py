"""Waits for autograd's threads at the end of the process (src/runtime/virtual/core/shutdown.h)."""

from __future__ import annotations

import atexit
import ctypes
from types import ModuleType
from typing import Any


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}


def finish(torch: ModuleType) -> None:
    # The callback must not run Python code: the interpreter would then forget that Ctrl-C ended the
    # program, which decides the exit status.
    atexit.register(ctypes.CDLL(None).torchport_wait_for_autograd)
