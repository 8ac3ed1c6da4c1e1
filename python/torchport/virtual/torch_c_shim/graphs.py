"""CUDA graphs: a capture records operators, and a replay runs them again (see _tape)."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import warnings
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from torchport.virtual.torch_c_shim._lifetimes import when_gone
from torchport.virtual.torch_c_shim._native import ops, refuse
from torchport.virtual.torch_c_shim.pools import Pool, graph_pool_handle

KINDS = ("cuda",)

_capturing = threading.local()  # .graph is the graph that this thread captures

_MODES = ("global", "thread_local", "relaxed")  # as cudaStreamCaptureMode numbers them
_NO_CAPTURE = "without a preceding successful capture."
_RAW = "the graph is a list of operators, not a cudaGraph_t"

# Errors of the runtime, as cudaError_t numbers them.
_ILLEGAL_STATE = 401
_CAPTURE_UNSUPPORTED = 900
_CAPTURE_INVALIDATED = 901


def current() -> Any:
    return getattr(_capturing, "graph", None)


def tape_here() -> Any:
    """The tape of the capture that this thread's work on the current stream belongs to, or None."""
    graph = current()
    return graph._recording if graph is not None and ops().is_capturing() else None


def _torch() -> Any:
    return sys.modules["torch"]


def _raise(error: int) -> NoReturn:
    ops().raise_runtime_error(error)
    raise AssertionError("an error of the runtime was raised")


def _import_what_a_tape_needs() -> None:
    """The first operator on a tape imports torch._dynamo, which leaves errors of optional imports in
    reference cycles. They hold the frames of whoever captures, and these the graph: it would outlive
    its last name, and its memory with it."""
    if "torch._dynamo" not in sys.modules:
        importlib.import_module("torch._dynamo")
        gc.collect()


class _PoolUse:
    """A graph is a user of its pool while it lives. (torch gives the graph a __del__ of its own.)"""

    def __init__(self, device: int, pool: Pool) -> None:
        when_gone(self, _release_pool, device, *pool)


def _release_pool(device: int, *pool: int) -> None:
    ops().release_pool(device, *pool)


class _GraphDraws:
    """Where replays of graphs read a generator's seed and offset: memory of its device, for as long
    as a graph is registered with it (ATen/cuda/CUDAGeneratorImpl.cpp)."""

    def __init__(self, generator: Any) -> None:
        from torch.utils._python_dispatch import _disable_current_modes

        self.generator = generator  # so that the number of its state stays its own
        with _disable_current_modes():
            self.numbers = [
                _torch().empty(1, dtype=_torch().int64, device=generator.device) for _ in range(2)
            ]


_draws: weakref.WeakValueDictionary[int, _GraphDraws] = weakref.WeakValueDictionary()


def _draws_of(generator: Any) -> _GraphDraws:
    from torchport.virtual.torch_c_shim._tape import state_of

    state = state_of(generator)  # the program may give the generator another one
    number = ops().state_number(state)
    found = _draws.get(number)
    if found is None:
        found = _draws[number] = _GraphDraws(state)
    return found


class _CUDAGraph:
    _debug = False  # of all graphs
    _keep_graph: bool
    _is_instance: bool  # whether there is a cudaGraphExec_t
    _tape: Any
    _recording: Any
    _pool_handle: Any
    _pool_use: _PoolUse | None
    _stream: tuple[int, int]  # device, stream
    _generators: list[Any]
    _states: list[tuple[Any, Any]]
    _draws: list[_GraphDraws]
    _was_dumped: bool

    def __new__(cls, keep_graph: bool = False) -> Any:
        graph = super().__new__(cls)
        graph._keep_graph = keep_graph
        graph._is_instance = False
        graph._stream = (ops().get_device(), ops().get_stream(-1))
        graph._tape = None
        graph._recording = None
        graph._pool_handle = None
        graph._pool_use = None
        graph._generators = []
        graph._states = []
        graph._draws = []
        graph._was_dumped = False
        return graph

    # The checks and their order are those of aten/src/ATen/cuda/CUDAGraph.cpp.
    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        from torchport.virtual.torch_c_shim import _tape

        _import_what_a_tape_needs()
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        if self._tape is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. "
                "To capture a new graph, create a new instance."
            )
        self._stream = (ops().get_device(), ops().get_stream(-1))
        if self._stream[1] == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        if current() is not None:
            _raise(_CAPTURE_UNSUPPORTED)
        given = pool is not None and tuple(pool) != (0, 0)
        if given and all(pool):
            raise RuntimeError(
                "!(pool.first && pool.second) INTERNAL ASSERT FAILED at "
                '"/pytorch/aten/src/ATen/cuda/CUDAGraph.cpp":90, please report a bug to PyTorch. '
            )
        self._pool_handle = tuple(pool) if given else graph_pool_handle(of_program=False)
        defaults = [ops().default_generator(i) for i in range(ops().device_count())]
        # A program may give a generator another state meanwhile; what counts is each state.
        states = [_tape.state_of(generator) for generator in (*defaults, *self._generators)]
        self._states = [(state, state.get_state()) for state in states]
        self._draws.append(_draws_of(_torch().cuda.default_generators[self._stream[0]]))
        ops().begin_capture(_MODES.index(capture_error_mode), *self._pool_handle)
        for state in states:
            ops().capture_generator(state, True)
        self._recording = _tape.Tape()
        self._recording.__enter__()
        _capturing.graph = self

    def capture_end(self) -> None:
        if (ops().get_device(), ops().get_stream(-1)) != self._stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        if current() is not self:  # cudaStreamEndCapture() of a stream that is not captured
            _raise(_ILLEGAL_STATE)
        _capturing.graph = None
        is_valid = ops().end_capture(*self._stream, *self._pool_handle)
        self._recording.__exit__(None, None, None)
        tape, self._recording = self._recording, None
        tape.finish()
        for state, numbers in self._states:
            ops().capture_generator(state, False)
            state.set_state(numbers)
        use = _PoolUse(self._stream[0], self._pool_handle)
        if not is_valid:
            _raise(_CAPTURE_INVALIDATED)
        if not tape.steps:
            warnings.warn(
                "The CUDA Graph is empty. This usually means that the graph was attempted to be "
                "captured on wrong device or stream.",
                stacklevel=2,
            )
        self._tape = tape
        self._pool_use = use
        self._is_instance = not self._keep_graph

    def instantiate(self) -> None:
        if self._tape is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if self._is_instance and not self._keep_graph:
            raise RuntimeError(
                "instantiate() is intended to be called by the user only when keep_graph=true"
            )
        self._is_instance = True

    def replay(self) -> None:
        tape = self._owned("replay")
        self._is_instance = True
        tape.replay()

    def reset(self) -> None:
        self._tape = None
        self._is_instance = False
        self._pool_use = None
        self._was_dumped = False
        self._generators.clear()

    def pool(self) -> tuple[int, int]:
        self._owned("pool()")
        major, minor = self._pool_handle
        return major, minor

    def register_generator_state(self, generator: Any) -> None:
        self._generators.append(generator)
        self._draws.append(_draws_of(generator))

    def enable_debug_mode(self) -> None:
        _CUDAGraph._debug = True

    def debug_dump(self, debug_path: str) -> None:
        from torchport.virtual.torch_c_shim._graph_dump import dot

        if not (_CUDAGraph._debug or self._keep_graph):
            text = "CUDA Graphs debug not enabled, set with [graph].enable_debug_mode()"
            warnings.warn(text, stacklevel=2)
            return
        warnings.warn("DEBUG: calling debug_dump()", stacklevel=2)
        if self._tape is None or self._was_dumped:
            return
        text = f"DEBUG: calling cudaGraphDebugDotPrint() with {debug_path}"
        warnings.warn(text, stacklevel=2)
        # torch destroys the graph then, and keeps what runs.
        self._was_dumped = not self._keep_graph
        try:
            Path(debug_path).write_text(dot(self._tape.steps), encoding="utf-8")
        except OSError as error:
            warnings.warn(f"CUDA warning: operating system call failed: {error}", stacklevel=2)

    def raw_cuda_graph(self) -> int:
        if not self._keep_graph:
            raise RuntimeError(
                "You cannot access the raw cudaGraph_t instance unless CUDAGraph was initialized "
                "with keep_graph=true"
            )
        if self._tape is None:
            raise RuntimeError(
                "You cannot access the raw cudaGraph_t instance until capture_end() has been called"
            )
        refuse("torch.cuda.CUDAGraph.raw_cuda_graph", _RAW)

    def raw_cuda_graph_exec(self) -> int:
        if not self._is_instance:
            raise RuntimeError(
                "You cannot access the raw cudaGraphExec_t instance until instantiate() has been "
                "called"
            )
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
        "_cuda_isCurrentStreamCapturing": lambda: ops().is_capturing(),
    }
