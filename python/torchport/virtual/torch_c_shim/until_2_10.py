"""What torch._C has for CUDA until torch 2.10."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    # A kernel that waits until the host clears a flag. Work on a virtual device is done when its call
    # returns, so it must not wait.
    return {"_cuda_busy_wait_for_flag": lambda: None, "_cuda_clear_flag": lambda: None}


def finish(torch: ModuleType) -> None:
    # torch.backends.cudnn stands before the module that has its functions. These were defined while
    # torch._C._cudnn did not exist, and would say that there is no cuDNN.
    name = "torch.backends.cudnn"
    front = sys.modules[name]
    functions = getattr(front, "m", None)
    if functions is None:
        return
    sys.modules[name] = functions
    try:
        functions.__spec__.loader.exec_module(functions)
    finally:
        sys.modules[name] = front
