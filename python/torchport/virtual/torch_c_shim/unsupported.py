"""Names that virtual devices do not support. A call raises an error with the reason."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import refuse

KINDS = ("cuda",)


class _CUDAGreenContext:
    @staticmethod
    def create(*_: Any, **__: Any) -> Any:
        refuse("torch.cuda.GreenContext", "a virtual device has no multiprocessors to divide")


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {"_CUDAGreenContext": _CUDAGreenContext}
