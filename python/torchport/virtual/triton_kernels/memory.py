"""The memory that kernels may use, so that a wild address does not end the process.

A real device sees an illegal access only where nothing is mapped. Just past the end of a tensor lies what
the allocator rounded up to, or another tensor: it lets a kernel pass that reads there. So such a read gives
zeros here, such a write is left out and told of, and an address that is far from every tensor is an illegal
access.
"""

from __future__ import annotations

import bisect
import gc
import sys
from typing import Any

import numpy as np

from torchport.virtual.triton_kernels import checking, errors

Array = Any
# What the allocator asks the driver for at a time (c10/core/AllocatorConfig.h, kSmallBuffer): up to here
# from a tensor's end, memory is mapped.
_MAPPED = 2 << 20


class Known:
    """Disjoint blocks of memory."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Adds a block; of two that begin at the same address, the longer one counts."""
        at = bisect.bisect_left(self.starts, start)
        if at < len(self.starts) and self.starts[at] == start:
            self.ends[at] = max(self.ends[at], end)
        else:
            self.starts.insert(at, start)
            self.ends.insert(at, end)

    def holds(self, low: int, high: int) -> bool:
        """Whether one block holds all addresses from low to below high."""
        at = bisect.bisect_right(self.starts, low) - 1
        return at >= 0 and high <= self.ends[at]

    def inside(self, pointers: Array, size: int) -> Array:
        """Which elements of this size lie in a block."""
        starts, ends = np.array(self.starts, np.uint64), np.array(self.ends, np.uint64)
        at = np.searchsorted(starts, pointers, side="right") - 1
        if not starts.size:
            return np.zeros(pointers.shape, bool)
        return (at >= 0) & (pointers + np.uint64(size) <= ends[np.maximum(at, 0)])

    def block(self, address: int) -> tuple[int, int]:
        """The block that holds an address which one holds."""
        at = bisect.bisect_right(self.starts, address) - 1
        return self.starts[at], self.ends[at]

    def is_near(self, low: int, high: int) -> bool:
        """Whether a real device has memory there, because a block is near."""
        at = bisect.bisect_right(self.starts, low) - 1
        after = at >= 0 and high - self.ends[at] <= _MAPPED
        return after or (at + 1 < len(self.starts) and self.starts[at + 1] - low <= _MAPPED)


_known = Known()
_state = {"complete": False}
_told: set[str] = set()


def start(blocks: Any) -> None:
    """Begins a launch whose arguments lie in `blocks`, pairs of (start, end)."""
    _known.starts.clear()
    _known.ends.clear()
    _state["complete"] = False
    for first, last in blocks:
        _known.add(first, last)


def block_of(tensor: Any) -> tuple[int, int]:
    """The addresses of the bytes of a tensor's storage."""
    storage = tensor.untyped_storage()
    first = storage.data_ptr()
    return first, first + storage.nbytes()


def _add_other_tensors() -> None:
    """Adds the program's other tensors on devices: a kernel may find addresses in a tensor."""
    import torch

    for one in gc.get_objects():
        # isinstance() would ask objects that stand for others for their class.
        if issubclass(type(one), torch.Tensor) and one.layout is torch.strided and one.is_cuda:
            _known.add(*block_of(one))
    _state["complete"] = True


def usable(pointers: Array, mask: Array, size: int, writes: bool, atomic: bool = False) -> Array:
    """The mask without the elements, of `size` bytes, that lie outside of all tensors.

    Raises IllegalAccess for an address at which a real device has no memory.
    """
    where = _usable(pointers, mask, size, writes)
    launch = checking.running()
    if launch is not None and where.any():
        launch.access(pointers[where], size, writes, atomic, _known.block)
    return where


def _usable(pointers: Array, mask: Array, size: int, writes: bool) -> Array:
    mask = np.broadcast_to(mask, pointers.shape)
    used = pointers[mask]
    if used.size == 0 or _known.holds(int(used.min()), int(used.max()) + size):
        return mask
    inside = _known.inside(used, size)
    if not inside.all() and not _state["complete"]:
        _add_other_tensors()
        inside = _known.inside(used, size)
    if inside.all():
        return mask
    outside = used[~inside]
    for address in (int(outside.min()), int(outside.max())):
        if not _known.is_near(address, address + size):
            raise errors.IllegalAccess(
                f"it {'stores' if writes else 'loads'} {size} bytes at {address:#x}, which is in no "
                "tensor of the device"
            )
    launch = checking.running()
    if launch is not None:
        launch.beyond(int(outside.min()), size, writes)
    elif writes:
        _tell(int(outside.max()), size)
    result = mask.copy()
    result[mask] = inside
    return result


def _tell(address: int, size: int) -> None:
    where = errors.place()
    if where in _told:
        return
    _told.add(where)
    at = bisect.bisect_right(_known.starts, address) - 1
    what = "before the first tensor"
    if at >= 0:
        past = address + size - _known.ends[at]
        what = (
            f"{past} bytes past the end of a tensor of {_known.ends[at] - _known.starts[at]} bytes"
        )
    sys.stderr.write(
        f"torchport: {where}: a kernel stores {what}. A GPU may overwrite another tensor there; on "
        "virtual devices nothing is stored.\n"
    )
