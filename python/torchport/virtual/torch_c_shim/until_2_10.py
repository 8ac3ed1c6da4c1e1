"""What torch._C has for CUDA until torch 2.10."""

from __future__ import annotations

from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    # A kernel that waits until the host clears a flag. Work on a virtual device is done when its call
    # returns, so it must not wait.
    return {"_cuda_busy_wait_for_flag": lambda: None, "_cuda_clear_flag": lambda: None}
