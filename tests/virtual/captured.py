"""The capture of a CUDA graph, for tests of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def capture(work: Callable[[], Any], **options: Any) -> tuple[torch.cuda.CUDAGraph, Any]:
    """The graph of what `work` does, and what it returned."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result
