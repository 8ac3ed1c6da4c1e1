"""Python's face of virtual CUDA: the names of `torch._C` that a CPU build lacks.

torch.cuda itself is left as it is; it finds what it calls. Each module here answers for one part
and offers ``bindings(torch) -> dict`` of names for torch._C; those with something to do once torch
is there have a ``finish(torch)``.
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
    memory,
    nccl,
    nvtx,
    storage,
    streams,
    tensor_types,
    tunable,
    unsupported,
)

_PARTS = (
    build,
    comm,
    cudart,
    devices,
    distributed,
    graphs,
    memory,
    nccl,
    nvtx,
    storage,
    streams,
    tensor_types,
    tunable,
    unsupported,
)


def install(torch: ModuleType) -> None:
    for part in _PARTS:
        for name, value in part.bindings(torch).items():
            setattr(torch._C, name, value)


def finish(torch: ModuleType) -> None:
    for part in _PARTS:
        if hasattr(part, "finish"):
            part.finish(torch)
