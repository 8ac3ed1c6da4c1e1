"""NVTX: ranges and marks. There is no profiler, so nothing counts them, as without one on a GPU."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim._pybind import bound

KINDS = ("cuda",)

NOT_TRACKED = -2  # NVTX_NO_PUSH_POP_TRACKING: what NVTX 3 answers if no tool is attached
NO_RANGE = 0  # what it answers for a range that was started then


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        "_nvtx": SimpleNamespace(
            rangePushA=bound(torch, "rangePushA", (str,), "int", lambda _: NOT_TRACKED),
            rangePop=bound(torch, "rangePop", (), "int", lambda: NOT_TRACKED),
            rangeStartA=bound(torch, "rangeStartA", (str,), "int", lambda _: NO_RANGE),
            rangeEnd=bound(torch, "rangeEnd", (int,), "None", lambda _: None),
            markA=bound(torch, "markA", (str,), "None", lambda _: None),
            deviceRangeStart=lambda message, stream: object(),
            deviceRangeEnd=lambda handle, stream: None,
        )
    }
