"""torch.cuda.nccl: collectives between the devices of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import refusing
from torchport.virtual.torch_c_shim.build import build

KINDS = ("cuda",)


def _reduction(torch: ModuleType, op: int) -> Callable[[Any], Any]:
    """The reduction over the first dimension; ``op`` is a number of ncclRedOp_t."""
    return (
        lambda stack: stack.sum(0, dtype=stack.dtype),
        lambda stack: stack.prod(0, dtype=stack.dtype),
        lambda stack: stack.amax(0),
        lambda stack: stack.amin(0),
    )[op]


def bindings(torch: ModuleType) -> dict[str, Any]:
    def reduced(inputs: Sequence[Any], op: int) -> Any:
        device = inputs[0].device
        return _reduction(torch, op)(torch.stack([t.to(device) for t in inputs]))

    def reduce(inputs, output, root, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        output.copy_(reduced(inputs, op))

    def all_reduce(inputs, outputs, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        result = reduced(inputs, op)
        for output in outputs:
            output.copy_(result)

    def broadcast(inputs, root, streams=None, comms=None):  # type: ignore[no-untyped-def]
        for tensor in inputs:
            if tensor is not inputs[root]:
                tensor.copy_(inputs[root])

    def all_gather(inputs, outputs, streams=None, comms=None):  # type: ignore[no-untyped-def]
        for output in outputs:
            output.copy_(
                torch.cat([t.reshape(-1).to(output.device) for t in inputs]).view_as(output)
            )

    def reduce_scatter(inputs, outputs, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        parts = reduced(inputs, op).reshape(len(outputs), -1)
        for output, part in zip(outputs, parts, strict=True):
            output.copy_(part.view_as(output))

    def version() -> int:
        chosen = build(torch)
        if chosen.nccl is None:
            cuda = "{}.{}".format(*chosen.version)
            raise RuntimeError(
                f"torchport: torchport/torch_releases.json has no NCCL version for the build of "
                f"torch {torch.__version__} for CUDA {cuda}"
            )
        major, minor, patch = chosen.nccl
        return major << 32 | minor << 16 | patch

    ranks = "torch.distributed provides communicators across processes"
    return {
        "_nccl_version": version,
        "_nccl_version_suffix": lambda: b"",
        "_nccl_unique_id": refusing("torch.cuda.nccl.unique_id", ranks),
        "_nccl_init_rank": refusing("torch.cuda.nccl.init_rank", ranks),
        "_nccl_reduce": reduce,
        "_nccl_all_reduce": all_reduce,
        "_nccl_broadcast": broadcast,
        "_nccl_all_gather": all_gather,
        "_nccl_reduce_scatter": reduce_scatter,
    }
