"""Allocators that a program brings: torch.cuda.memory.CUDAPluggableAllocator.

Their functions are called by the runtime (core/program_allocators.h). The classes, checks and words
are those of torch/csrc/cuda/CUDAPluggableAllocator.cpp.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import ops, refusing

KINDS = ("cuda",)

_NO_CONSTRUCTOR = "No constructor defined!"


class _cuda_CUDAAllocator:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"torch._C.{type(self).__name__}: {_NO_CONSTRUCTOR}")


class _CUDAPluggableAllocator(_cuda_CUDAAllocator):
    """Two functions for memory, and those that a program sets for what else an allocator does."""

    _allocate: int
    _free: int
    _functions: dict[str, int]

    def set_init_fn(self, function: int) -> None:
        self._functions["init"] = function  # an allocator is initialised when it is made

    def set_reset_fn(self, function: int) -> None:
        self._functions["reset"] = function

    def set_memory_fraction_fn(self, function: int) -> None:
        self._functions["memory_fraction"] = function

    def set_base_alloc_fn(self, function: int) -> None:
        self._functions["base_alloc"] = function

    def set_record_stream_fn(self, function: int) -> None:
        self._functions["record_stream"] = function
        if _current is self:
            _replace(self)

    def set_begin_allocate_to_pool(self, function: int) -> None:
        self._functions["begin_allocate_to_pool"] = function

    def set_end_allocate_to_pool_fn(self, function: int) -> None:
        self._functions["end_allocate_to_pool"] = function

    def set_release_pool(self, function: int) -> None:
        self._functions["release_pool"] = function


_current: _CUDAPluggableAllocator | None = None


def make(allocate: int, free: int) -> _CUDAPluggableAllocator:
    made = object.__new__(_CUDAPluggableAllocator)
    made._allocate, made._free, made._functions = allocate, free, {}
    return made


def _replace(allocator: _CUDAPluggableAllocator) -> None:
    record_stream = allocator._functions.get("record_stream", 0)
    ops().replace_allocator(allocator._allocate, allocator._free, record_stream)


def change(allocator: _CUDAPluggableAllocator) -> None:
    global _current
    if _current is not None or sys.modules["torch"].cuda.is_initialized():
        raise RuntimeError("Can't swap an already initialized allocator")
    _replace(allocator)
    _current = allocator


def current() -> _CUDAPluggableAllocator | None:
    return _current


def backend() -> str:
    if _current is not None:
        return "pluggable"
    return "cudaMallocAsync" if ops().uses_drivers_pool() else "native"


def check(what: str) -> None:
    """Raises an error if the allocator in use is not the caching one, which alone has this."""
    names = {"pluggable": "CUDAPluggableAllocator", "cudaMallocAsync": "cudaMallocAsync"}
    name = names.get(backend())
    if name is not None:
        raise RuntimeError(
            f"{name} does not yet support {what}. "
            "If you need it, please file an issue describing your use case."
        )


def empty_cache() -> None:
    if _current is None:
        ops().empty_cache()
    elif "reset" in _current._functions:
        ctypes.CFUNCTYPE(None)(_current._functions["reset"])()


def set_memory_fraction(part: float, device: int) -> None:
    if _current is None:
        ops().set_memory_fraction(device, part)
    elif "memory_fraction" in _current._functions:
        function = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int)
        function(_current._functions["memory_fraction"])(part, device)


def _enable_caching(on: bool) -> None:
    if not isinstance(on, bool):
        name = type(on).__name__
        raise RuntimeError(f"cudaCachingAllocator_enable expects a bool, but got {name}")
    if backend() == "native":  # the others cannot be switched off
        ops().set_caches_memory(on)


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        "_cuda_CUDAAllocator": _cuda_CUDAAllocator,
        "_CUDAPluggableAllocator": _CUDAPluggableAllocator,
        "_cuda_customAllocator": make,
        "_cuda_changeCurrentAllocator": change,
        "_cuda_getAllocator": current,
        "_cuda_getAllocatorBackend": backend,
        "_cuda_cudaHostAllocator": refusing(
            "torch.cuda._host_allocator", "pinned memory is host memory of the process"
        ),
        "_cuda_cudaCachingAllocator_enable": _enable_caching,
        "_cuda_cudaCachingAllocator_is_enabled": lambda: bool(ops().caches_memory()),
    }
