"""Private pools of device memory: torch.cuda.MemPool, and those of CUDA graphs."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._lifetimes import when_gone
from torchport.virtual.torch_c_shim._native import ops

KINDS = ("cuda",)

Pool = tuple[int, int]

_numbers_of_graphs = itertools.count(1)
_numbers_of_programs = itertools.count(1)


def graph_pool_handle(of_program: bool = True) -> Pool:
    """The id of a new pool, as at::cuda::MemPool::graph_pool_handle() numbers them."""
    return (0, next(_numbers_of_programs)) if of_program else (next(_numbers_of_graphs), 0)


class MemPool:
    """A pool of the device that is current when it is made."""

    _id: Pool
    _device: int
    _allocator: Any
    is_user_created: bool

    def __init__(
        self,
        allocator: Any = None,
        is_user_created: bool = True,
        use_on_oom: bool = False,
        no_split: bool = False,
    ) -> None:
        self._id = graph_pool_handle(is_user_created)
        self._device = ops().get_device()
        self._allocator = allocator
        self.is_user_created = is_user_created
        ops().use_pool(self._device, *self._id, use_on_oom, no_split)
        when_gone(self, _give_up, self._device, self._id)
        if allocator is not None:
            functions = allocator._allocate, allocator._free
            ops().pool_takes_from(self._device, *self._id, *functions)

    @property
    def id(self) -> Pool:
        return self._id

    @property
    def device(self) -> int:
        return self._device

    @property
    def allocator(self) -> Any:
        return self._allocator

    def use_count(self) -> int:
        return int(ops().pool_users(self._device, *self._id))


def _give_up(device: int, pool: Pool) -> None:
    ops().release_pool(device, *pool)
    ops().empty_pool(device, *pool)


def begin_on_thread(device: int, pool: Pool) -> None:
    ops().begin_pool(device, *pool, "thread")


def begin_on_stream(device: int, pool: Pool) -> None:
    ops().begin_pool(device, *pool, "stream")


def begin_in_captures(device: int, pool: Pool) -> None:
    ops().begin_pool(device, *pool, "captures")


def end(device: int, pool: Pool) -> None:
    ops().end_pool(device, *pool)


def release(device: int, pool: Pool) -> None:
    ops().release_pool(device, *pool)


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        "_graph_pool_handle": graph_pool_handle,
        "_MemPool": MemPool,
        "_cuda_beginAllocateToPool": begin_in_captures,
        "_cuda_beginAllocateCurrentThreadToPool": begin_on_thread,
        "_cuda_beginAllocateCurrentStreamToPool": begin_on_stream,
        "_cuda_endAllocateToPool": end,
        "_cuda_releasePool": release,
    }
