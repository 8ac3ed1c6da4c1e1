"""NVTX: ranges and marks. No profiler listens; depths and ids are kept as the library keeps them."""

from __future__ import annotations

import itertools
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    of_thread = threading.local()
    ids = itertools.count(1)

    def push(message: str) -> int:
        depth = getattr(of_thread, "depth", 0)
        of_thread.depth = depth + 1
        return depth

    def pop() -> int:
        depth = getattr(of_thread, "depth", 0) - 1
        of_thread.depth = max(depth, 0)
        return depth  # -1, as nvtxRangePop says for a pop too many

    return {
        "_nvtx": SimpleNamespace(
            rangePushA=push,
            rangePop=pop,
            rangeStartA=lambda message: next(ids),
            rangeEnd=lambda range_id: None,
            markA=lambda message: None,
            deviceRangeStart=lambda message, stream: next(ids),
            deviceRangeEnd=lambda handle, stream: None,
        )
    }
