"""Python's face of virtual devices: the names of `torch._C` that a CPU build lacks.

torch.cuda, torch.xpu and torch.mps themselves are left as they are; they find what they call. Each
module here answers for one part and offers ``bindings(torch) -> dict`` of names for torch._C; those
with something to do once torch is there have a ``finish(torch)``.
"""

from __future__ import annotations

from types import ModuleType

from torchport.virtual.face import (
    build,
    comm,
    cudart,
    devices,
    distributed,
    graphs,
    history,
    leaving,
    memory,
    mps,
    nccl,
    nvtx,
    storage,
    streams,
    tensor_types,
    tunable,
    unsupported,
    xpu,
)
from torchport.virtual.face._native import kind

_OF_CUDA = (
    build,
    comm,
    cudart,
    devices,
    distributed,
    graphs,
    history,
    leaving,
    memory,
    nccl,
    nvtx,
    storage,
    streams,
    tensor_types,
    tunable,
    unsupported,
)


_PARTS = {"cuda": _OF_CUDA, "xpu": (leaving, storage, xpu), "mps": (leaving, mps, storage)}


def install(torch: ModuleType) -> None:
    for part in _PARTS[kind()]:
        for name, value in part.bindings(torch).items():
            setattr(torch._C, name, value)


def finish(torch: ModuleType) -> None:
    for part in _PARTS[kind()]:
        if hasattr(part, "finish"):
            part.finish(torch)
