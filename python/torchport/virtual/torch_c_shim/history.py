"""The record of allocations: torch.cuda.memory._record_memory_history() and its snapshots."""

from __future__ import annotations

import ctypes
import json
import platform
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import allocators
from torchport.virtual.torch_c_shim._native import ops, refuse

KINDS = ("cuda",)

_CONTEXTS = {None: 0, "state": 1, "alloc": 2, "all": 3}
_MOST = sys.maxsize
# "cpp" frames are gathered on Linux on x86 alone, as by torch.
_LINES_OF_CPP = platform.machine() in ("x86_64", "AMD64") and sys.platform == "linux"
_skipped: set[str] = set()
_OBSERVER = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)
_observers: list[Any] = []


def bindings(torch: ModuleType) -> dict[str, Any]:
    state = {"recording": False, "metadata": ""}

    def record(
        enabled: str | None,
        context: str | None = "all",
        stacks: str = "all",
        max_entries: int = _MOST,
        clear_history: bool = False,
        compile_context: bool = False,
        global_record_annotations: bool = False,
        skip_actions: list[str] | None = None,
    ) -> None:
        allocators.check("recordHistory")
        if enabled not in (None, "state", "all"):
            raise RuntimeError("expected state to be 'state', 'all', or None")
        if context not in _CONTEXTS:
            raise RuntimeError("expected context to be 'state', 'alloc', 'all', or None")
        if stacks not in ("python", "all"):
            raise RuntimeError("expected stacks to be 'python', or 'all'")
        _skipped.clear()
        _skipped.update(skip_actions or ())
        state["recording"] = enabled is not None
        ops().record_history(
            enabled is not None,
            enabled == "all",
            _CONTEXTS[context],
            stacks == "all" and _LINES_OF_CPP,
            min(max_entries, _MOST),
            clear_history,
        )

    def record_legacy(
        enabled: bool,
        record_context: bool = True,
        record_context_cpp: bool = False,
        alloc_trace_max_entries: int = 1,
        alloc_trace_record_context: bool = False,
        *_: Any,
    ) -> None:
        """The signature of torch 2.0, which takes flags."""
        context = "all" if alloc_trace_record_context else "state" if record_context else None
        record("all" if enabled else None, context, max_entries=alloc_trace_max_entries)

    def attach(observer: Callable[[int, int, int, int], Any]) -> None:
        function = _OBSERVER(observer)
        _observers.append(function)  # it is called until the process ends
        ops().observe_out_of_memory(ctypes.cast(function, ctypes.c_void_p).value)

    def traceback_of(pointer: int) -> None:
        if state["recording"]:
            refuse(
                "torch.cuda.memory._allocation_traceback",
                "the address of a tensor is a host address; use torch.cuda.memory._snapshot()",
            )

    return {
        "_cuda_record_memory_history": record,
        "_cuda_record_memory_history_legacy": record_legacy,
        "_cuda_isHistoryEnabled": lambda: state["recording"],
        "_cuda_allocationTraceback": traceback_of,
        "_cuda_setMemoryMetadata": lambda text: state.update(metadata=text),
        "_cuda_getMemoryMetadata": lambda: state["metadata"],
        "_cuda_attach_out_of_memory_observer": attach,
    }


class History:
    """The recorded allocations of one device, in the form of snapshots."""

    def __init__(self, device: int) -> None:
        recorded = json.loads(ops().history(device))
        frames = [
            {"filename": file, "line": line, "name": name}
            for file, line, name in recorded["frames"]
        ]
        # Places are few and events are many: one list for each place keeps a file of them small.
        known: dict[tuple[int, ...], list[dict[str, Any]]] = {}
        self._tracebacks = [
            known.setdefault(tuple(one), [frames[i] for i in one]) for one in recorded["tracebacks"]
        ]
        self._events = recorded["events"]
        self._live = dict(recorded["live"])

    def frames_at(self, address: int) -> list[dict[str, Any]]:
        """The Python frames that allocated the block at an address."""
        return self._frames(self._live.get(address, -1))

    def events(self) -> list[dict[str, Any]]:
        result = []
        for action, address, size, stream, microseconds, free, traceback in self._events:
            if action in _skipped:
                continue
            event = {"action": action, "size": size, "stream": stream, "time_us": microseconds}
            event |= {"device_free": free} if action == "oom" else {"addr": address}
            result.append(event | {"pool_id": (0, 0), "frames": self._frames(traceback)})
        return result

    def _frames(self, traceback: int) -> list[dict[str, Any]]:
        return self._tracebacks[traceback] if traceback >= 0 else []
