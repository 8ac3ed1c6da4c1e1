"""Names that virtual devices do not support. A call raises an error with the reason."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import refuse, refusing

KINDS = ("cuda",)

_GDS = "there is no GPUDirect Storage; read the file into host memory"

# Name in torch._C -> (name that programs use, reason).
REFUSED = {
    "_gds_register_buffer": ("torch.cuda.gds.gds_register_buffer", _GDS),
    "_gds_deregister_buffer": ("torch.cuda.gds.gds_deregister_buffer", _GDS),
    "_gds_register_handle": ("torch.cuda.gds.GdsFile", _GDS),
    "_gds_deregister_handle": ("torch.cuda.gds.GdsFile", _GDS),
    "_gds_load_storage": ("torch.cuda.gds.GdsFile.load_storage", _GDS),
    "_gds_save_storage": ("torch.cuda.gds.GdsFile.save_storage", _GDS),
}


class _CUDAGreenContext:
    @staticmethod
    def create(*_: Any, **__: Any) -> Any:
        refuse("torch.cuda.GreenContext", "a virtual device has no multiprocessors to divide")


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        **{name: refusing(*known) for name, known in REFUSED.items()},
        "_CUDAGreenContext": _CUDAGreenContext,
    }
