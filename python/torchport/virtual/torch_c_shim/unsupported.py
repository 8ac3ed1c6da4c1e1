"""Names that virtual devices do not support. A call raises an error with the reason."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import refuse, refusing

KINDS = ("cuda",)

_TREES = "CUDA graph trees manage the pools of the real allocator; use the backend without them"

# Name in torch._C -> (name that programs use, reason).
REFUSED = {
    "_cuda_checkPoolLiveAllocations": ("torch._C._cuda_checkPoolLiveAllocations", _TREES),
    "_cuda_getCheckpointState": ("torch._C._cuda_getCheckpointState", _TREES),
    "_cuda_setCheckpointPoolState": ("torch._C._cuda_setCheckpointPoolState", _TREES),
    "_construct_CUDA_Tensor_From_Storage_And_Metadata": (
        "torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata",
        _TREES,
    ),
    "_free_And_Remove_DeleterFn": ("torch._C._free_And_Remove_DeleterFn", _TREES),
    "_has_Standard_Deleter": ("torch._C._has_Standard_Deleter", _TREES),
    "_set_storage_access_error_msg": ("torch._C._set_storage_access_error_msg", _TREES),
    "_set_storage_data_ptr_access_error_msg": (
        "torch._C._set_storage_data_ptr_access_error_msg",
        _TREES,
    ),
    "_tensors_data_ptrs_at_indices_equal": ("torch._C._tensors_data_ptrs_at_indices_equal", _TREES),
}


class _CUDAGreenContext:
    @staticmethod
    def create(*_: Any, **__: Any) -> Any:
        refuse("torch.cuda.GreenContext", "a virtual device has no multiprocessors to divide")


class _cuda_CUDAAllocator_AllocatorState:
    def __init__(self) -> None:
        refuse("torch._C._cuda_CUDAAllocator_AllocatorState", _TREES)


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        **{name: refusing(*known) for name, known in REFUSED.items()},
        "_CUDAGreenContext": _CUDAGreenContext,
        "_cuda_CUDAAllocator_AllocatorState": _cuda_CUDAAllocator_AllocatorState,
    }
