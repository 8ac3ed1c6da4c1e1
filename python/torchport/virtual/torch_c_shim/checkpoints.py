"""Checkpoints of private pools: what torch._inductor.cudagraph_trees asks of the allocator.

The functions and their checks are those of torch/csrc/cuda/Module.cpp. Storages are given by their
addresses (``_cdata``), blocks by those of their bytes (``data_ptr``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import allocators
from torchport.virtual.torch_c_shim._lifetimes import when_gone
from torchport.virtual.torch_c_shim._native import ops
from torchport.virtual.torch_c_shim.pools import Pool

KINDS = ("cuda",)


class _cuda_CUDAAllocator_AllocatorState:
    """The blocks of a pool at one time. Only _cuda_getCheckpointState makes one."""

    _number: int

    def __init__(self) -> None:
        raise TypeError("torch._C._cuda_CUDAAllocator_AllocatorState: No constructor defined!")


def _drop(number: int) -> None:
    ops().drop_checkpoint(number)


def state_of(device: int, pool: Pool) -> _cuda_CUDAAllocator_AllocatorState:
    allocators.check("getCheckpointState")
    state = object.__new__(_cuda_CUDAAllocator_AllocatorState)
    state._number = ops().take_checkpoint(device, *pool)
    when_gone(state, _drop, state._number)
    return state


def return_to(
    device: int,
    state: _cuda_CUDAAllocator_AllocatorState,
    stale_storages: Sequence[int],
    storages_to_add_deleters_to: Sequence[int] = (),
) -> None:
    allocators.check("setCheckpointPoolState")
    ops().return_to_checkpoint(
        state._number, list(stale_storages), list(storages_to_add_deleters_to)
    )


def has_in_use(device: int, pool: Pool, data: Iterable[int]) -> bool:
    expected = list(data)
    if ops().pool_has_in_use(device, *pool, expected):
        return True
    # Graph trees search for the difference in a snapshot, whose addresses are not those of tensors.
    # A tensor that only waits for the garbage collector would look like one that was never freed.
    gc.collect()
    return bool(ops().pool_has_in_use(device, *pool, expected))


def data_ptrs_equal(
    tensors: Sequence[Any], data_ptrs: Sequence[int | None], indices: Sequence[int]
) -> bool:
    return all(tensors[i].data_ptr() == data_ptrs[i] for i in indices)


def bindings(torch: ModuleType) -> dict[str, Any]:
    base_storage = torch._C._construct_storage_from_data_pointer

    def storage_at(data: int, device: Any, nbytes: int) -> Any:
        if device.type == "cuda" and nbytes > 0:
            found = ops().bytes_at(data, device.index, nbytes)
            if found is not None:
                return found.untyped_storage()
        return base_storage(data, device, nbytes)

    def tensor_over(metadata: dict[str, Any], storage: Any) -> Any:
        tensor = torch.empty(0, dtype=metadata["dtype"], device=storage.device)
        return tensor.set_(
            storage, metadata["storage_offset"], metadata["size"], metadata["stride"]
        )

    return {
        "_cuda_CUDAAllocator_AllocatorState": _cuda_CUDAAllocator_AllocatorState,
        "_cuda_getCheckpointState": state_of,
        "_cuda_setCheckpointPoolState": return_to,
        "_cuda_checkPoolLiveAllocations": has_in_use,
        "_construct_CUDA_Tensor_From_Storage_And_Metadata": tensor_over,
        "_construct_storage_from_data_pointer": storage_at,
        "_free_And_Remove_DeleterFn": lambda storage: ops().free_block_of(storage),
        "_has_Standard_Deleter": lambda storage: ops().owns_block(storage),
        "_set_storage_access_error_msg": lambda *given: ops().set_storage_error(*given),
        "_set_storage_data_ptr_access_error_msg": lambda *given: ops().set_data_error(*given),
        "_tensors_data_ptrs_at_indices_equal": data_ptrs_equal,
    }
