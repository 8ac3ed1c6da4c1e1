"""NVTX: ranges and marks. There is no profiler; depths and ids are those of the real library."""

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
        return depth  # -1 if no range is open, like nvtxRangePop

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
