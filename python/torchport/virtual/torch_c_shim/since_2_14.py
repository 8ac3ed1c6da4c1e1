"""What torch._C has for CUDA since torch 2.14."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import graphs
from torchport.virtual.torch_c_shim._native import refuse

KINDS = ("cuda",)

_NCCL_CLASSES = ("ProcessGroupNCCL2", "ProcessGroupNCCLLazy")


class _CUDAGraph(graphs._CUDAGraph):
    """A capture ends in two steps, between which the graph can be looked at."""

    def capture_end_pre(self) -> None:
        graphs._CUDAGraph.capture_end(self)

    def capture_end_post(self) -> None:
        pass

    @property
    def _has_graph_exec(self) -> bool:
        """Whether the graph can be replayed; torch asks since 2.15."""
        return self._tape is not None

    def pools(self) -> list[tuple[int, int]]:
        return [self.pool()]

    def begin_capture_to_while_node(self, scalar_cuda_pred_tensor: Any) -> None:
        refuse("torch.cuda.CUDAGraph.begin_capture_to_while_node", graphs._RAW)

    def set_conditional_handle_for_current_node(self, scalar_cuda_pred_tensor: Any) -> None:
        refuse("torch.cuda.CUDAGraph.set_conditional_handle_for_current_node", graphs._RAW)


def _recorder(torch: ModuleType) -> Any:
    """The function that starts the record of allocations. It knows two more kinds of memory."""
    record = torch._C._cuda_record_memory_history

    def record_with_kinds(
        enabled: str | None,
        *settings: Any,
        record_pinned_host_memory: bool = False,
        record_cuda: bool = True,
    ) -> None:
        settings, kinds = settings[:7], settings[7:]
        if len(kinds) > 1:
            record_cuda = kinds[1]
        record(enabled if record_cuda else None, *settings)

    return record_with_kinds


def _one_nccl_for_all(torch: ModuleType) -> None:
    """Other backends over NCCL are the one that virtual devices have."""
    c10d = torch._C._distributed_c10d
    for name in _NCCL_CLASSES:
        setattr(c10d, name, c10d.ProcessGroupNCCL)


def bindings(torch: ModuleType) -> dict[str, Any]:
    init = torch._C._c10d_init
    asked = {"algorithms": 1}

    def c10d_init() -> bool:
        done: bool = init()
        _one_nccl_for_all(torch)
        return done

    return {
        "_CUDAGraph": _CUDAGraph,
        "_c10d_init": c10d_init,
        "_cuda_record_memory_history": _recorder(torch),
        "_cuda_memoryMetadataSupported": lambda: True,
        "_cuda_annotateMemory": lambda pointer, text: None,
        "_cuda_tunableop_set_cublaslt_requested_algo_count": lambda count: asked.update(
            algorithms=count
        ),
        "_cuda_tunableop_get_cublaslt_requested_algo_count": lambda: asked["algorithms"],
        "_has_gds": True,
    }
