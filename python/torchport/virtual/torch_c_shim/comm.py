"""Copies between devices, for torch.nn.parallel.comm and DataParallel.

What joins and spreads tensors is in src/runtime/virtual/distributed/one_process.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import ops

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    def broadcast(tensor: Any, devices: Sequence[int]) -> list[Any]:
        return list(ops().broadcast_over(tensor, list(devices)))

    def broadcast_out(tensor: Any, outs: Sequence[Any]) -> Sequence[Any]:
        ops().broadcast_to(tensor, list(outs))
        return outs

    def broadcast_coalesced(
        tensors: Sequence[Any], devices: Sequence[int], buffer_size: int
    ) -> list[list[Any]]:
        tensors = list(tensors)
        if not tensors:
            return [[] for _ in devices]
        count = len(tensors)
        copies = ops().broadcast_coalesced(tensors, list(devices), buffer_size)
        rows = [list(copies[i : i + count]) for i in range(count, len(copies), count)]
        return [tensors, *rows]

    def on_stream(
        streams: Sequence[Any] | None, index: int, device: int
    ) -> AbstractContextManager[Any]:
        stream = streams[index] if streams is not None and index < len(streams) else None
        if stream is None:
            return nullcontext()
        if stream.device.index != device:
            raise RuntimeError(
                f"Expected the device associated with the stream at index {index} (was "
                f"{stream.device.index}) to match the device supplied at that index (expected "
                f"{device})"
            )
        chosen: AbstractContextManager[Any] = torch.cuda.stream(stream)
        return chosen

    def scatter(
        tensor: Any,
        devices: Sequence[int],
        chunk_sizes: Sequence[int] | None,
        dim: int,
        streams: Sequence[Any] | None,
    ) -> list[Any]:
        if not devices:
            raise RuntimeError("Expected at least one device to scatter to")
        if chunk_sizes is not None and len(chunk_sizes) != len(devices):
            raise RuntimeError(
                f"Expected devices and chunk_sizes to be of same length, but got len(devices) = "
                f"{len(devices)} and len(chunk_sizes) = {len(chunk_sizes)}"
            )
        parts = list(
            tensor.chunk(len(devices), dim)
            if chunk_sizes is None
            else tensor.split_with_sizes(chunk_sizes, dim)
        )
        for i, (part, index) in enumerate(zip(parts, devices, strict=False)):
            if part.device == torch.device("cuda", index):
                continue
            with on_stream(streams, i, index):
                parts[i] = part.to(torch.device("cuda", index), non_blocking=True)
        return parts

    def scatter_out(
        tensor: Any, outs: Sequence[Any], dim: int, streams: Sequence[Any] | None
    ) -> Sequence[Any]:
        parts = tensor.split_with_sizes([out.size(dim) for out in outs], dim)
        for i, (out, part) in enumerate(zip(outs, parts, strict=True)):
            with on_stream(streams, i, out.device.index):
                out.copy_(part, non_blocking=True)
        return outs

    def gather(tensors: Sequence[Any], dim: int, destination: int | None) -> Any:
        return ops().gather_on(list(tensors), dim, destination)

    def gather_out(tensors: Sequence[Any], out: Any, dim: int) -> Any:
        ops().gather_into(list(tensors), out, dim)
        return out

    return {
        "_broadcast": broadcast,
        "_broadcast_out": broadcast_out,
        "_broadcast_coalesced": broadcast_coalesced,
        "_scatter": scatter,
        "_scatter_out": scatter_out,
        "_gather": gather,
        "_gather_out": gather_out,
    }
