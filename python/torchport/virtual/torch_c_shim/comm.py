"""Copies between devices, for torch.nn.parallel.comm and DataParallel."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    def place(index: int) -> Any:
        return torch.device("cpu") if index < 0 else torch.device("cuda", index)

    def broadcast(tensor: Any, devices: Sequence[int]) -> list[Any]:
        return [tensor.to(place(index)) for index in devices]

    def broadcast_out(tensor: Any, outs: Sequence[Any]) -> Sequence[Any]:
        for i, out in enumerate(outs):
            if not out.is_cuda:
                raise RuntimeError(
                    "Expected all output tensors to be CUDA tensors, but output tensor at index "
                    f"{i} is on {out.device}"
                )
            if out.shape != tensor.shape:
                raise RuntimeError(
                    f"Expected all output tensors to have same shape as the source tensor "
                    f"{list(tensor.shape)}, but output tensor at index {i} has shape {list(out.shape)}"
                )
            out.copy_(tensor, non_blocking=True)
        return outs

    def broadcast_coalesced(
        tensors: Sequence[Any], devices: Sequence[int], buffer_size: int
    ) -> list[list[Any]]:
        if not all(t.is_cuda and t.get_device() == devices[0] for t in tensors):
            raise RuntimeError(
                f"All tensors must be on devices[0]: {devices[0]}",
            )
        copies = [[t.to(place(i), copy=True) for t in tensors] for i in devices[1:]]
        return [list(tensors), *copies]

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
        parts = (
            tensor.chunk(len(devices), dim)
            if chunk_sizes is None
            else tensor.split_with_sizes(chunk_sizes, dim)
        )
        return [
            part.to(place(index), non_blocking=True)
            for part, index in zip(parts, devices, strict=False)
        ]

    def scatter_out(
        tensor: Any, outs: Sequence[Any], dim: int, streams: Sequence[Any] | None
    ) -> Sequence[Any]:
        parts = tensor.split_with_sizes([out.size(dim) for out in outs], dim)
        for out, part in zip(outs, parts, strict=True):
            out.copy_(part, non_blocking=True)
        return outs

    def check_sources(tensors: Sequence[Any]) -> None:
        if not tensors:
            raise RuntimeError("Expected at least one tensor to gather from")
        for i, tensor in enumerate(tensors):
            if not tensor.is_cuda:
                raise RuntimeError(
                    "Expected all input tensors to be CUDA tensors, but tensor at index "
                    f"{i} is on {tensor.device}"
                )

    def gather(tensors: Sequence[Any], dim: int, destination: int | None) -> Any:
        check_sources(tensors)
        if destination is None:
            destination = torch.cuda.current_device()
        target = place(destination)
        return torch.cat([t.to(target, non_blocking=True) for t in tensors], dim)

    def gather_out(tensors: Sequence[Any], out: Any, dim: int) -> Any:
        check_sources(tensors)
        torch.cat([t.to(out.device, non_blocking=True) for t in tensors], dim, out=out)
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
