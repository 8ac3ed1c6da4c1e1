"""The functions of the CUDA runtime that torch.cuda.cudart() offers."""

from __future__ import annotations

import enum
from types import ModuleType, SimpleNamespace
from typing import Any

KINDS = ("cuda",)


class cudaError(enum.IntEnum):
    success = 0
    errorInvalidValue = 1
    errorMemoryAllocation = 2
    errorInvalidDevice = 101


def bindings(torch: ModuleType) -> dict[str, Any]:
    def mem_get_info(index: int) -> tuple[int, int]:
        free, total = torch._ops.ops.torchport.memory_info(index)
        return free, total

    def done(*_: Any) -> cudaError:
        return cudaError.success

    return {
        "_cudart": SimpleNamespace(
            cudaError=cudaError,
            cudaGetErrorString=lambda code: cudaError(code).name,
            cudaMemGetInfo=mem_get_info,
            cudaProfilerStart=done,
            cudaProfilerStop=done,
            cudaHostRegister=done,
            cudaHostUnregister=done,
            cudaStreamCreate=done,
            cudaStreamDestroy=done,
        ),
    }
