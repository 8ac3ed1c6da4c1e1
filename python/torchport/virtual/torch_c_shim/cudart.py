"""The functions of the CUDA runtime that torch.cuda.cudart() offers."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim._native import ops
from torchport.virtual.torch_c_shim._pybind import bound

KINDS = ("cuda",)


class cudaError(int):
    """A number of cudaError_t. torch gives a name to one of them."""

    success: cudaError

    @property
    def name(self) -> str:
        return "success" if self == 0 else "???"

    @property
    def value(self) -> int:
        return int(self)

    def __repr__(self) -> str:
        return f"<{self}: {int(self)}>"

    def __str__(self) -> str:
        return f"cudaError.{self.name}"


cudaError.__module__ = "torch._C._cudart"
cudaError.success = cudaError(0)


def bindings(torch: ModuleType) -> dict[str, Any]:
    def mem_get_info(index: int) -> tuple[int, int]:
        free, total = ops().memory_info(index)
        return free, total

    def done(*_: Any) -> cudaError:
        return cudaError.success

    def register(address: int, size: int, _flags: int) -> cudaError:
        return cudaError(ops().host_register(address, size))

    def unregister(address: int) -> cudaError:
        return cudaError(ops().host_unregister(address))

    def error_text(error: cudaError) -> str:
        return str(ops().runtime_error_text(error.value))

    error = "torch._C._cudart.cudaError"
    functions: list[tuple[str, tuple[type, ...], str, Callable[..., Any]]] = [
        ("cudaGetErrorString", (cudaError,), "str", error_text),
        ("cudaMemGetInfo", (int,), "tuple[int, int]", mem_get_info),
        ("cudaProfilerStart", (), error, done),
        ("cudaProfilerStop", (), error, done),
        ("cudaHostRegister", (int, int, int), error, register),
        ("cudaHostUnregister", (int,), error, unregister),
        ("cudaStreamCreate", (int,), error, done),
        ("cudaStreamDestroy", (int,), error, done),
    ]
    named = {
        name: bound(torch, name, takes, returns, function)
        for name, takes, returns, function in functions
    }
    return {"_cudart": SimpleNamespace(cudaError=cudaError, **named)}
