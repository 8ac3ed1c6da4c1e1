"""The functions of ``torch.cuda`` that programs call, for the device in use.

``torchport.backend.empty_cache()`` takes the place of ``torch.cuda.empty_cache()``. On CUDA it calls
the same function; on XPU, NPU and MPS the one of that backend. Where the device has nothing of the
kind, as the CPU has no cache, the call does nothing or gives the value that is true there.
``torch.accelerator`` was not enough: it refuses to synchronize on a machine without an accelerator,
it has no random numbers, and MPS has no memory statistics in it.

The device is the program's own (`torchport.device`), at the index that is current; each function
also takes one.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from torchport._native.devices import free_memory
from torchport.place import policy

__all__ = [
    "current_stream",
    "empty_cache",
    "get_rng_state",
    "get_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]

_Device = torch.device | str | None


def _kind(device: _Device) -> str:
    if device is None:
        return policy.device().type
    return (device if isinstance(device, torch.device) else torch.device(device)).type


def _of(device: _Device, *names: str) -> Any:
    """The first of these functions that the backend of the device has; None without one."""
    kind = _kind(device)
    if kind in ("cpu", "meta"):
        return None
    module = torch.get_device_module(kind)
    return next((f for name in names if (f := getattr(module, name, None)) is not None), None)


def _number(device: _Device, name: str, of_mps: str = "") -> int:
    function = _of(device, name)
    if function is not None:
        return int(function(device))
    function = _of(device, of_mps) if of_mps else None
    return int(function()) if function is not None else 0


def empty_cache() -> None:
    """Frees the memory that the device's allocator keeps. The CPU's keeps none.

    Example:
        >>> torchport.backend.empty_cache()
    """
    if function := _of(None, "empty_cache"):
        function()


def synchronize(device: _Device = None) -> None:
    """Waits until the device has done all its work. Work on the CPU is done already.

    Args:
        device: The device; the default is the one in use.

    Example:
        >>> torchport.backend.synchronize()
    """
    if function := _of(device, "synchronize"):
        # That of MPS takes no device, because there is one.
        function() if device is None or _kind(device) == "mps" else function(device)


def set_device(device: torch.device | str | int) -> None:
    """Makes a device the current one of its kind. The CPU and MPS have one device.

    Args:
        device: The device; a number is an index of the kind in use.

    Example:
        >>> torchport.backend.set_device(0)
    """
    function = _of(None if isinstance(device, int) else device, "set_device")
    if function is not None:
        function(device)


def memory_allocated(device: _Device = None) -> int:
    """The bytes of the tensors on the device.

    Args:
        device: The device; the default is the one in use.

    Returns:
        The bytes; 0 on the CPU, whose allocator counts none.

    Example:
        >>> torchport.backend.memory_allocated("cpu")
        0
    """
    return _number(device, "memory_allocated", "current_allocated_memory")


def max_memory_allocated(device: _Device = None) -> int:
    """The largest number of bytes of tensors on the device since `reset_peak_memory_stats`.

    Args:
        device: The device; the default is the one in use.

    Returns:
        The bytes; 0 on the CPU and MPS, which keep no peak.

    Example:
        >>> torchport.backend.max_memory_allocated("cpu")
        0
    """
    return _number(device, "max_memory_allocated")


def memory_reserved(device: _Device = None) -> int:
    """The bytes that the device's allocator holds, with those that it keeps for later.

    Args:
        device: The device; the default is the one in use.

    Returns:
        The bytes; 0 on the CPU, whose allocator counts none.

    Example:
        >>> torchport.backend.memory_reserved("cpu")
        0
    """
    return _number(device, "memory_reserved", "driver_allocated_memory")


def max_memory_reserved(device: _Device = None) -> int:
    """The largest number of bytes that the allocator held since `reset_peak_memory_stats`.

    Args:
        device: The device; the default is the one in use.

    Returns:
        The bytes; 0 on the CPU and MPS, which keep no peak.

    Example:
        >>> torchport.backend.max_memory_reserved("cpu")
        0
    """
    return _number(device, "max_memory_reserved")


def reset_peak_memory_stats(device: _Device = None) -> None:
    """Starts the peaks of `max_memory_allocated` and `max_memory_reserved` anew.

    Args:
        device: The device; the default is the one in use.

    Example:
        >>> torchport.backend.reset_peak_memory_stats()
    """
    if function := _of(device, "reset_peak_memory_stats"):
        function(device)


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """The free and the total memory of the device.

    Args:
        device: The device; the default is the one in use.

    Returns:
        (free, total) in bytes; on the CPU they are the host's.

    Example:
        >>> free, total = torchport.backend.mem_get_info("cpu")
        >>> 0 < free <= total
        True
    """
    if function := _of(device, "mem_get_info"):
        free, total = function(device)
        return int(free), int(total)
    if limit := _of(device, "recommended_max_memory"):  # MPS
        total = int(limit())
        return max(0, total - memory_reserved(device)), total
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(total, free_memory(torch.device("cpu"))), total


def manual_seed(seed: int) -> None:
    """Seeds the random numbers of the current device. The CPU's are seeded only if it is in use.

    Args:
        seed: The seed.

    Example:
        >>> torchport.backend.manual_seed(0)
    """
    (_of(None, "manual_seed") or torch.default_generator.manual_seed)(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the random numbers of all devices of the kind in use.

    Args:
        seed: The seed.

    Example:
        >>> torchport.backend.manual_seed_all(0)
    """
    seeds = _of(None, "manual_seed_all", "manual_seed")
    (seeds or torch.default_generator.manual_seed)(seed)


def get_rng_state(device: _Device = None) -> torch.Tensor:
    """The state of the device's random numbers.

    Args:
        device: The device; the default is the one in use.

    Returns:
        The state, a tensor on the CPU; `set_rng_state` takes it.

    Example:
        >>> state = torchport.backend.get_rng_state()
        >>> torchport.backend.set_rng_state(state)
    """
    function = _of(device, "get_rng_state")
    if function is None:
        return torch.get_rng_state()
    state: torch.Tensor = function() if device is None else function(device)
    return state


def set_rng_state(state: torch.Tensor, device: _Device = None) -> None:
    """Sets the state of the device's random numbers.

    Args:
        state: A result of `get_rng_state` on a device of the same kind.
        device: The device; the default is the one in use.

    Example:
        >>> torchport.backend.set_rng_state(torchport.backend.get_rng_state())
    """
    function = _of(device, "set_rng_state")
    if function is None:
        torch.set_rng_state(state)
    elif device is None:
        function(state)
    else:
        function(state, device)


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of the random numbers of all devices of the kind in use.

    Returns:
        A state for each device, in the order of their indices.

    Example:
        >>> len(torchport.backend.get_rng_state_all()) > 0
        True
    """
    function = _of(None, "get_rng_state_all")
    return list(function()) if function is not None else [get_rng_state()]


def set_rng_state_all(states: list[torch.Tensor]) -> None:
    """Sets the states of the random numbers of all devices of the kind in use.

    Args:
        states: A result of `get_rng_state_all`.

    Example:
        >>> torchport.backend.set_rng_state_all(torchport.backend.get_rng_state_all())
    """
    function = _of(None, "set_rng_state_all")
    if function is not None:
        function(states)
    else:
        set_rng_state(states[0])


def current_stream(device: _Device = None) -> Any:
    """The current stream of the device.

    Args:
        device: The device; the default is the one in use.

    Returns:
        The stream. That of the CPU and MPS has the same methods to wait, which do nothing: there
        is one queue.

    Example:
        >>> stream = torchport.backend.current_stream("cpu")
    """
    function = _of(device, "current_stream")
    return function(device) if function is not None else torch.cpu.current_stream()
