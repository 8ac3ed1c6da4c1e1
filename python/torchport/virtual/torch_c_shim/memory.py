"""Memory: the allocated, reserved and peak bytes, pools, and pinned host memory."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import ops, refuse, refusing
from torchport.virtual.torch_c_shim.history import History

KINDS = ("cuda",)


class _CUDAAllocator:
    """The only allocator; a program cannot replace it."""


def _snapshot(mempool_id: Any = None) -> dict[str, Any]:
    """All segments, or those of one pool; and all traces, unless the third item is false."""
    _check_pool_id(mempool_id)
    pool = (0, 0) if mempool_id is None else tuple(mempool_id[:2])
    with_traces = mempool_id is None or len(mempool_id) < 3 or mempool_id[2]
    segments: list[dict[str, Any]] = []
    traces = []
    for index in range(ops().device_count()):
        history = History(index)
        segments += [
            _complete(segment, history)
            for segment in json.loads(ops().memory_snapshot(index))
            if pool in ((0, 0), tuple(segment["segment_pool_id"]))
        ]
        traces.append(history.events() if with_traces else [])
    return {
        "segments": segments,
        "device_traces": traces,
        "allocator_settings": json.loads(ops().allocator_settings()),
        "external_annotations": [],
    }


def _check_pool_id(mempool_id: Any) -> None:
    # The words of THCPModule_memorySnapshot in torch/csrc/cuda/Module.cpp.
    if mempool_id is None:
        return
    if not isinstance(mempool_id, tuple):
        raise RuntimeError("Expected tuple or None")
    if len(mempool_id) not in (2, 3):
        raise RuntimeError("Expected tuple of size 2 or 3")
    if not all(isinstance(number, int) for number in mempool_id[:2]):
        raise RuntimeError("mempool_id elements must be integers")
    if len(mempool_id) == 3 and not isinstance(mempool_id[2], bool):
        raise RuntimeError("include_traces must be a boolean")


def _complete(segment: dict[str, Any], history: History) -> dict[str, Any]:
    active = [b for b in segment["blocks"] if b["state"] == "active_allocated"]
    segment["allocated_size"] = segment["active_size"] = sum(b["size"] for b in active)
    segment["requested_size"] = sum(b["requested_size"] for b in active)
    segment["segment_pool_id"] = tuple(segment["segment_pool_id"])
    segment["is_expandable"] = False
    segment["frames"] = []
    for block in segment["blocks"]:
        block["frames"] = history.frames_at(block["address"])
    return segment


def _stats(index: int) -> dict[str, Any]:
    stats: dict[str, Any] = json.loads(ops().memory_stats(index))
    settings = json.loads(ops().allocator_settings())
    return stats | {"max_split_size": settings["max_split_size"]}


def _raw(torch: ModuleType) -> dict[str, Any]:
    """torch.cuda.caching_allocator_alloc and _delete. The storages live until they are deleted."""
    held: dict[int, Any] = {}

    def allocate(size: int, stream: int) -> int:
        storage = torch.empty(size, dtype=torch.uint8, device="cuda").untyped_storage()
        held[storage.data_ptr()] = storage
        return int(storage.data_ptr())

    def delete(pointer: int) -> None:
        if pointer not in held:
            raise RuntimeError(f"invalid device pointer: {pointer:#x}")
        del held[pointer]

    return {
        "_cuda_cudaCachingAllocator_raw_alloc": allocate,
        "_cuda_cudaCachingAllocator_raw_delete": delete,
    }


def _allocator() -> dict[str, Any]:
    caching = {"enabled": True}

    def enable(on: bool) -> None:
        if not on:
            refuse("torch.cuda.caching_allocator_enable(False)", "they always cache memory")
        caching["enabled"] = on

    own = "their memory is host memory"
    return {
        "_cuda_CUDAAllocator": _CUDAAllocator,
        "_cuda_getAllocator": _CUDAAllocator,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_customAllocator": refusing("torch.cuda.CUDAPluggableAllocator", own),
        "_cuda_changeCurrentAllocator": refusing("torch.cuda.change_current_allocator", own),
        "_cuda_cudaHostAllocator": refusing("torch.cuda._host_allocator", own),
        "_cuda_cudaCachingAllocator_enable": enable,
        "_cuda_cudaCachingAllocator_is_enabled": lambda: caching["enabled"],
    }


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        "_cuda_memoryStats": _stats,
        "_cuda_resetAccumulatedMemoryStats": lambda index: ops().reset_accumulated(index),
        "_cuda_resetPeakMemoryStats": lambda index: ops().reset_peak(index),
        "_cuda_hostMemoryStats": lambda: json.loads(ops().host_memory_stats()),
        "_cuda_resetAccumulatedHostMemoryStats": lambda: ops().reset_host_memory(False),
        "_cuda_resetPeakHostMemoryStats": lambda: ops().reset_host_memory(True),
        "_host_emptyCache": lambda: ops().empty_host_cache(),
        "_cuda_emptyCache": lambda *_: ops().empty_cache(),
        "_cuda_memorySnapshot": _snapshot,
        "_cuda_setMemoryFraction": lambda part, index: ops().set_memory_fraction(index, part),
        "_cuda_getMemoryFraction": lambda index: ops().get_memory_fraction(index),
        "_cuda_ipc_collect": lambda: None,
        **_raw(torch),
        **_allocator(),
    }


def finish(torch: ModuleType) -> None:
    ops().follow_allocator_settings()
