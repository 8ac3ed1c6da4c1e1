"""The layout of what convolutions return, which the next operators take over.

PyTorch's meta kernel does not know the device, and leaves the layout contiguous. On a GPU it is channels_last
if the input or the weight is (cudnn_conv_suggest_memory_format, aten/src/ATen/native/ConvUtils.h).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_kept: list[Any] = []  # the kernels last as long as the library that registered them


def install(torch: ModuleType) -> None:
    meta = torch._meta_registrations
    library = torch.library.Library("aten", "IMPL")
    for name, function in (("convolution", "meta_conv"), ("_convolution", "meta__conv")):
        kernel = getattr(meta, function, None)  # a release may lack one
        if kernel is not None:
            library.impl(name, _with_layout(torch, kernel), "Meta", allow_override=True)
    _kept.append(library)


def _with_layout(torch: ModuleType, kernel: Any) -> Any:
    layout_of = torch._prims_common.suggest_memory_format
    channels_last = {4: torch.channels_last, 5: torch.channels_last_3d}

    def convolution(data: Any, weight: Any, *arguments: Any) -> Any:
        result = kernel(data, weight, *arguments)
        layout = channels_last.get(weight.dim())
        if layout is None or result.dim() != weight.dim() or data.dtype == torch.float64:
            return result
        if layout not in (layout_of(data), layout_of(weight)):
            return result
        return torch.empty_like(result, memory_format=layout)

    return convolution
