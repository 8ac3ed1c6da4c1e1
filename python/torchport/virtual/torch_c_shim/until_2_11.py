"""What torch._C has for CUDA until torch 2.11."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    # The lock of the allocator. The memory model has its own, so this one only keeps others out.
    lock = threading.Lock()
    return {"_cuda_lock_mutex": lock.acquire, "_cuda_unlock_mutex": lock.release}
