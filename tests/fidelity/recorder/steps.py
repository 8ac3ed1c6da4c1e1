"""Memory figures of device 0 after each step of a sequence."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

MIB = 1 << 20


FIGURES = "allocated reserved peak_allocated peak_reserved"


def bytes_and_peaks() -> list[int]:
    """The FIGURES: bytes allocated and reserved, and the peaks of both since this was last asked."""
    stats = torch.cuda.memory_stats()
    keys = ("allocated_bytes", "reserved_bytes")
    figures = [stats.get(f"{key}.all.{which}", 0) for which in ("current", "peak") for key in keys]
    torch.cuda.reset_peak_memory_stats()
    return figures


class Steps:
    """`mark(name)` notes what is allocated (bytes), reserved (bytes), the peaks of both since the
    last mark, and the number of segments and of blocks in use."""

    def __init__(self) -> None:
        self.marks: dict[str, list[int]] = {}
        torch.cuda.init()
        self.mark("begin")

    def mark(self, name: str) -> None:
        stats = torch.cuda.memory_stats()
        figures = bytes_and_peaks()
        figures += [stats.get(f"{key}.all.current", 0) for key in ("segment", "allocation")]
        count = sum(n.partition(" #")[0] == name for n in self.marks)
        self.marks[f"{name} #{count + 1}" if count else name] = figures

    def told(self) -> dict[str, Any]:
        return {"figures": f"{FIGURES} segments blocks"} | self.marks


def made(size: float, stream: torch.cuda.Stream | None = None) -> torch.Tensor:
    """A block of so many bytes, in a stream."""
    with torch.cuda.stream(stream):
        return torch.empty(int(size), dtype=torch.uint8, device="cuda")


def outside_the_allocator() -> int:
    """Bytes of device 0 that this process holds beside what the allocator has reserved.

    By NVIDIA's management library where it is installed (nvidia-ml-py); else by what is not free, which
    counts other processes, too.
    """
    torch.cuda.synchronize()
    return _held_by_this_process() - torch.cuda.memory_reserved()


def _held_by_this_process() -> int:
    with contextlib.suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        for one in pynvml.nvmlDeviceGetComputeRunningProcesses(handle):
            if one.pid == os.getpid() and one.usedGpuMemory:
                return one.usedGpuMemory
    free, total = torch.cuda.mem_get_info()
    return total - free


FILLING = ("normal_", "uniform_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_",
           "xavier_normal_", "xavier_uniform_", "orthogonal_")  # fmt: skip


def without_initial_values() -> contextlib.AbstractContextManager[None]:
    """Modules that are made inside do not draw their parameters, which takes most of the time of
    making a large one. Their memory is the same."""
    return initial_values(_unchanged)


@contextlib.contextmanager
def initial_values(fill: Callable[..., torch.Tensor]) -> Iterator[None]:
    """What modules that are made inside would draw, this function of the tensor makes."""
    with contextlib.ExitStack() as stack:
        for name in FILLING:
            for owner in (torch.nn.init, torch.Tensor):
                if hasattr(owner, name):
                    stack.enter_context(mock.patch.object(owner, name, fill))
        yield


def _unchanged(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return tensor
