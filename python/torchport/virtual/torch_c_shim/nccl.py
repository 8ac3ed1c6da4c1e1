"""torch.cuda.nccl: collectives between the devices of one process.

They are in src/runtime/virtual/distributed/one_process_nccl.cpp.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import ops, refusing
from torchport.virtual.torch_c_shim.build import build

KINDS = ("cuda",)

_UNIQUE_ID_BYTES = 128  # NCCL_UNIQUE_ID_BYTES


def bindings(torch: ModuleType) -> dict[str, Any]:
    def run(name: str, inputs: Any, outputs: Any, root: int = 0, op: int = 0) -> None:
        ops().collective_of_devices(name, list(inputs), list(outputs), root, op)

    def reduce(inputs, output, root, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        run("reduce", inputs, [output], root, op)

    def all_reduce(inputs, outputs, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        run("all_reduce", inputs, outputs, op=op)

    def broadcast(inputs, root, streams=None, comms=None):  # type: ignore[no-untyped-def]
        run("broadcast", inputs, [], root)

    def all_gather(inputs, outputs, streams=None, comms=None):  # type: ignore[no-untyped-def]
        run("all_gather", inputs, outputs)

    def reduce_scatter(inputs, outputs, op, streams=None, comms=None):  # type: ignore[no-untyped-def]
        run("reduce_scatter", inputs, outputs, op=op)

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
