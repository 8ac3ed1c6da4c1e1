"""Memory figures of device 0 after each step of a sequence."""

from __future__ import annotations

from typing import Any

import torch

MIB = 1 << 20


class Steps:
    """`mark(name)` notes what is allocated (bytes), reserved (bytes), the peaks of both since the
    last mark, and the number of segments and of blocks in use."""

    def __init__(self) -> None:
        self.marks: dict[str, list[int]] = {}
        torch.cuda.init()
        self.mark("begin")

    def mark(self, name: str) -> None:
        stats = torch.cuda.memory_stats()
        keys = ("allocated_bytes", "reserved_bytes")
        figures = [stats.get(f"{key}.all.current", 0) for key in keys]
        figures += [stats.get(f"{key}.all.peak", 0) for key in keys]
        figures += [stats.get(f"{key}.all.current", 0) for key in ("segment", "allocation")]
        count = sum(n.partition(" #")[0] == name for n in self.marks)
        self.marks[f"{name} #{count + 1}" if count else name] = figures
        torch.cuda.reset_peak_memory_stats()

    def told(self) -> dict[str, Any]:
        return {
            "figures": "allocated reserved peak_allocated peak_reserved segments blocks"
        } | self.marks


def made(size: float, stream: torch.cuda.Stream | None = None) -> torch.Tensor:
    """A block of so many bytes, in a stream."""
    with torch.cuda.stream(stream):
        return torch.empty(int(size), dtype=torch.uint8, device="cuda")
