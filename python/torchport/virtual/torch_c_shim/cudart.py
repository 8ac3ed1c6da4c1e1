"""The functions of the CUDA runtime that torch.cuda.cudart() offers."""

from __future__ import annotations

import enum
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim._native import ops

KINDS = ("cuda",)


class cudaError(enum.IntEnum):
    success = 0
    errorInvalidValue = 1
    errorMemoryAllocation = 2
    errorInvalidDevice = 101
    errorHostMemoryAlreadyRegistered = 712
    errorHostMemoryNotRegistered = 713


# What cudaGetErrorString() says.
_WORDS = {
    cudaError.success: "no error",
    cudaError.errorInvalidValue: "invalid argument",
    cudaError.errorMemoryAllocation: "out of memory",
    cudaError.errorInvalidDevice: "invalid device ordinal",
    cudaError.errorHostMemoryAlreadyRegistered: (
        "part or all of the requested memory range is already mapped"
    ),
    cudaError.errorHostMemoryNotRegistered: (
        "pointer does not correspond to a registered memory region"
    ),
}


def bindings(torch: ModuleType) -> dict[str, Any]:
    def mem_get_info(index: int) -> tuple[int, int]:
        free, total = ops().memory_info(index)
        return free, total

    def done(*_: Any) -> cudaError:
        return cudaError.success

    return {
        "_cudart": SimpleNamespace(
            cudaError=cudaError,
            cudaGetErrorString=_WORDS.get,
            cudaMemGetInfo=mem_get_info,
            cudaProfilerStart=done,
            cudaProfilerStop=done,
            cudaHostRegister=lambda address, size, _: cudaError(ops().host_register(address, size)),
            cudaHostUnregister=lambda address: cudaError(ops().host_unregister(address)),
            cudaStreamCreate=done,
            cudaStreamDestroy=done,
        ),
    }
