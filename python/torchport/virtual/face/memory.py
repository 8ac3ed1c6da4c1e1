"""Memory: what is allocated, reserved and at its peak."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any


def bindings(torch: ModuleType) -> dict[str, Any]:
    def ops():  # type: ignore[no-untyped-def]
        import torch._ops

        return torch._ops.ops.torchport

    def snapshot(mempool_id=None, include_traces=True):  # type: ignore[no-untyped-def]
        segments = []
        for index in range(ops().device_count()):
            segments += json.loads(ops().memory_snapshot(index))
        return {
            "segments": segments,
            "device_traces": [[] for _ in range(ops().device_count())],
            "allocator_settings": {},
            "external_annotations": [],
        }

    return {
        "_cuda_memoryStats": lambda index: json.loads(ops().memory_stats(index)),
        "_cuda_resetAccumulatedMemoryStats": lambda index: ops().reset_accumulated(index),
        "_cuda_resetPeakMemoryStats": lambda index: ops().reset_peak(index),
        "_cuda_emptyCache": lambda *_: ops().empty_cache(),
        "_cuda_memorySnapshot": snapshot,
        "_cuda_setMemoryFraction": lambda fraction, index: ops().set_memory_fraction(
            index, fraction
        ),
        "_cuda_getMemoryFraction": lambda index: ops().get_memory_fraction(index),
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_ipc_collect": lambda: None,
    }
