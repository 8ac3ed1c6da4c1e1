"""CUDA graphs: a capture records operators, and a replay runs them again (see _tape)."""

from __future__ import annotations

import itertools
import threading
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import ops, refuse

KINDS = ("cuda",)

_pools = itertools.count(1)
_capturing = threading.local()  # .graph is the graph that this thread captures

_NO_CAPTURE = "without a preceding successful capture."
_RAW = "the graph is a list of operators, not a cudaGraph_t"


def current() -> Any:
    return getattr(_capturing, "graph", None)


class _CUDAGraph:
    _keep_graph: bool
    _tape: Any
    _recording: Any
    _pool_handle: Any
    _generators: list[Any]
    _states: list[tuple[Any, Any]]

    def __new__(cls, keep_graph: bool = False) -> Any:
        graph = super().__new__(cls)
        graph._keep_graph = keep_graph
        graph._tape = None
        graph._pool_handle = None
        graph._generators = []
        graph._states = []
        return graph

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        from torchport.virtual.torch_c_shim import _tape

        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        if self._tape is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. "
                "To capture a new graph, create a new instance."
            )
        if ops().get_stream(-1) == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        if current() is not None:
            import torch

            raise torch.AcceleratorError(_tape.UNSUPPORTED)
        self._pool_handle = pool if pool is not None else (next(_pools), 0)
        generators = [ops().default_generator(i) for i in range(ops().device_count())]
        self._states = [(g, g.get_state()) for g in (*generators, *self._generators)]
        for generator, _ in self._states:
            ops().capture_generator(generator, True)
        ops().set_capturing(True)
        self._recording = _tape.Tape()
        self._recording.__enter__()
        _capturing.graph = self

    def capture_end(self) -> None:
        if current() is not self:
            raise RuntimeError("capture_end() called with no capture underway on this thread")
        _capturing.graph = None
        ops().set_capturing(False)
        self._recording.__exit__(None, None, None)
        tape, self._recording = self._recording, None
        tape.finish()
        for generator, state in self._states:
            ops().capture_generator(generator, False)
            generator.set_state(state)
        if tape.failed:
            import torch

            from torchport.virtual.torch_c_shim import _tape

            raise torch.AcceleratorError(_tape.INVALIDATED)
        self._tape = tape

    def instantiate(self) -> None:
        self._owned("instantiate")

    def replay(self) -> None:
        self._owned("replay").replay()

    def reset(self) -> None:
        self._tape = None

    def pool(self) -> tuple[int, int]:
        self._owned("pool()")
        major, minor = self._pool_handle
        return major, minor

    def register_generator_state(self, generator: Any) -> None:
        self._generators.append(generator)

    def enable_debug_mode(self) -> None:
        pass

    def debug_dump(self, debug_path: str) -> None:
        refuse("torch.cuda.CUDAGraph.debug_dump", _RAW)

    def raw_cuda_graph(self) -> int:
        refuse("torch.cuda.CUDAGraph.raw_cuda_graph", _RAW)

    def raw_cuda_graph_exec(self) -> int:
        refuse("torch.cuda.CUDAGraph.raw_cuda_graph_exec", _RAW)

    @staticmethod
    def get_currently_capturing_graph() -> Any:
        if current() is None:
            raise RuntimeError(
                "get_currently_capturing_graph() can be used only between capture_begin() and "
                "capture_end()."
            )
        return current()

    def begin_capture_to_if_node(self, scalar_cuda_pred_tensor: Any) -> None:
        refuse("torch.cuda.CUDAGraph.begin_capture_to_if_node", _RAW)

    def end_capture_to_conditional_node(self) -> None:
        refuse("torch.cuda.CUDAGraph.end_capture_to_conditional_node", _RAW)

    def _owned(self, what: str) -> Any:
        if self._tape is None:
            raise RuntimeError(f"Called CUDAGraph::{what} {_NO_CAPTURE}")
        return self._tape


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        "_CUDAGraph": _CUDAGraph,
        "_graph_pool_handle": lambda: (0, next(_pools)),
        "_cuda_isCurrentStreamCapturing": lambda: current() is not None,
    }
