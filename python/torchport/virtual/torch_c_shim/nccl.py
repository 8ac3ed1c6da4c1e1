"""torch.cuda.nccl: collectives between the devices of one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import refusing
from torchport.virtual.torch_c_shim.build import build

KINDS = ("cuda",)

_UNIQUE_ID_BYTES = 128  # NCCL_UNIQUE_ID_BYTES


def _reduction(torch: ModuleType, op: int) -> Callable[[Any], Any]:
    """The reduction over the first dimension; ``op`` is a number of ncclRedOp_t."""
    return (
        lambda stack: stack.sum(0, dtype=stack.dtype),
        lambda stack: stack.prod(0, dtype=stack.dtype),
        lambda stack: stack.amax(0),
        lambda stack: stack.amin(0),
    )[op]


def _refuse_unless(right: bool, text: str) -> None:
    if not right:
        raise RuntimeError(text)


def check(
    inputs: Sequence[Any],
    outputs: Sequence[Any | None],
    input_multiplier: int = 1,
    output_multiplier: int = 1,
) -> None:
    """Refuses what check_inputs() of torch/csrc/cuda/nccl.cpp refuses, in its order and words.
    An output that is None is not looked at."""
    _refuse_unless(len(inputs) > 0, "input sequence can't be empty")
    _refuse_unless(
        len(inputs) == len(outputs),
        "inputs and outputs sequences have to be of the same length, but got input of length "
        f"{len(inputs)} and output of length {len(outputs)}",
    )
    devices = set()
    count, dtype = inputs[0].numel(), inputs[0].dtype

    def check_one(tensor: Any) -> None:
        _refuse_unless(
            tensor.is_cuda and not tensor.is_sparse,
            "input and output elements have to be cuda dense Tensors",
        )
        _refuse_unless(
            tensor.dtype == dtype, "all inputs and outputs must be of the same Tensor dtype"
        )
        _refuse_unless(tensor.is_contiguous(), "all inputs and outputs have to be contiguous")

    for given, output in zip(inputs, outputs, strict=True):
        check_one(given)
        _refuse_unless(given.numel() == count, "all inputs must have the same number of elements")
        if output is not None:
            check_one(output)
            _refuse_unless(
                given.device == output.device, "input and output must be on the same device"
            )
            _refuse_unless(
                output.numel() * output_multiplier == count * input_multiplier,
                "output must be of size input_size * size_multiplier",
            )
        _refuse_unless(given.device not in devices, "inputs must be on unique devices")
        devices.add(given.device)


def bindings(torch: ModuleType) -> dict[str, Any]:
    def reduced(inputs: Sequence[Any], op: int) -> Any:
        device = inputs[0].device
        return _reduction(torch, op)(torch.stack([t.to(device) for t in inputs]))

    def reduce(inputs, output, root, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        check(inputs, [output if i == root else None for i in range(len(inputs))])
        output.copy_(reduced(inputs, op))

    def all_reduce(inputs, outputs, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        check(inputs, outputs)
        result = reduced(inputs, op)
        for output in outputs:
            output.copy_(result)

    def broadcast(inputs, root, streams=None, comms=None):  # type: ignore[no-untyped-def]
        _refuse_unless(0 <= root < len(inputs), "invalid root")
        check(inputs, inputs)
        for tensor in inputs:
            if tensor is not inputs[root]:
                tensor.copy_(inputs[root])

    def all_gather(inputs, outputs, streams=None, comms=None):  # type: ignore[no-untyped-def]
        check(inputs, outputs, input_multiplier=len(inputs))
        for output in outputs:
            output.copy_(
                torch.cat([t.reshape(-1).to(output.device) for t in inputs]).view_as(output)
            )

    def reduce_scatter(inputs, outputs, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        check(inputs, outputs, output_multiplier=len(inputs))
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
        "_nccl_unique_id": lambda: os.urandom(_UNIQUE_ID_BYTES),
        "_nccl_init_rank": refusing("torch.cuda.nccl.init_rank", ranks),
        "_nccl_reduce": reduce,
        "_nccl_all_reduce": all_reduce,
        "_nccl_broadcast": broadcast,
        "_nccl_all_gather": all_gather,
        "_nccl_reduce_scatter": reduce_scatter,
    }
