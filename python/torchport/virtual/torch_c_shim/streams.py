"""Streams and events. Operators are done when their call returns, so streams have only an identity,
and events have only a time."""

from __future__ import annotations

import operator
import struct
import time
import warnings
from types import ModuleType
from typing import Any

from torchport import _device_kinds
from torchport.virtual.torch_c_shim import graphs
from torchport.virtual.torch_c_shim._native import ops
from torchport.virtual.torch_c_shim.devices import properties

KINDS = ("cuda",)

IPC_HANDLE_BYTES = 64  # CUDA_IPC_HANDLE_SIZE
IPC_MAGIC = b"torchport event\0"  # begins each handle

# Errors of the runtime, as cudaError_t numbers them.
INVALID_VALUE = 1
MAP_BUFFER_OBJECT_FAILED = 205
INVALID_RESOURCE_HANDLE = 400
HIGHEST_PRIORITY = -3  # torch has pools of streams for four priorities


def device_type(kind: str) -> int:
    """The number of c10::DeviceType."""
    description = _device_kinds.find(kind)
    if description is None:
        raise ValueError(f"torchport: there is no device kind {kind!r}")
    return description.device_type


def stream_base(torch: ModuleType, kind: str) -> type:
    number = device_type(kind)

    class StreamBase(torch._C.Stream):  # type: ignore[misc, name-defined]  # a module that is given
        def __new__(
            cls,
            priority: int = 0,
            stream_id: int = 0,
            device_index: int = 0,
            device_type: int = 0,
            stream_ptr: int = 0,
            **kwargs: Any,
        ) -> Any:
            make = super().__new__
            priority = operator.index(priority)
            if stream_ptr:
                # The id of a stream that torch did not make is its address.
                return make(
                    cls, stream_id=stream_ptr, device_index=ops().get_device(), device_type=number
                )
            if stream_id or device_index or device_type:
                return make(cls, stream_id=stream_id, device_index=device_index, device_type=number)
            return make(cls, device=f"{kind}:{ops().get_device()}", priority=priority)

        @property
        def cuda_stream(self) -> int:
            return int(self.stream_id)

        @property
        def priority(self) -> int:
            # The id is packed as in the guard: bit 0 is set for streams of torch, then the pool.
            pool = (self.stream_id >> 1) & 0b1111
            return 1 - pool if self.stream_id & 1 else 0

        @staticmethod
        def priority_range() -> tuple[int, int]:
            return (0, HIGHEST_PRIORITY)

        sycl_queue = cuda_stream

    StreamBase.__name__ = f"_{kind.capitalize()}StreamBase"
    return StreamBase


def event_base(torch: ModuleType, kind: str) -> type:
    class EventBase(torch._C.Event):  # type: ignore[misc, name-defined]  # a module that is given
        def __new__(
            cls,
            enable_timing: bool = False,
            blocking: bool = False,
            interprocess: bool = False,
            external: bool = False,
            **kwargs: Any,
        ) -> Any:
            options = {
                "device": kind,
                "enable_timing": enable_timing,
                "blocking": blocking,
                "interprocess": interprocess,
            }
            event = super().__new__(cls, **options)
            event._is_timed = enable_timing
            event._interprocess = interprocess
            event._external = external
            return event

        def record(self, stream: Any) -> None:
            if not isinstance(stream, torch.Stream):
                raise RuntimeError(
                    "expected stream to be a torch.Stream or torch.cuda.Stream object"
                )
            # cudaEventCreateWithFlags() makes no event for other processes that measures.
            if self._interprocess and self._is_timed:
                ops().raise_runtime_error(INVALID_VALUE)
            super().record(stream)

        def wait(self, stream: Any = None) -> None:
            # Work outside of a graph that it waits for: it is always done.
            if self._external and ops().is_capturing():
                return
            super().wait(torch.cuda.current_stream() if stream is None else stream)

        # torch.Event.elapsed_time() accepts no subclass.
        def elapsed_time(self, other: Any) -> float:
            if not (self._is_timed and getattr(other, "_is_timed", True)):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            return float(ops().elapsed_time(self.event_id, other.event_id))

        @property
        def cuda_event(self) -> int:
            return int(self.event_id)

        def ipc_handle(self) -> bytes:
            # Recorded work is always done, so the handle needs no state for the other process.
            if not self._interprocess:
                ops().raise_runtime_error(INVALID_RESOURCE_HANDLE)
            if not self.event_id:
                self.record(torch.cuda.current_stream())
            made = struct.pack("=qq", ops().get_device(), time.monotonic_ns())
            return (IPC_MAGIC + made).ljust(IPC_HANDLE_BYTES, b"\0")

        @classmethod
        def from_ipc_handle(cls, device: Any, handle: bytes) -> Any:
            if len(handle) != IPC_HANDLE_BYTES:
                raise RuntimeError(
                    f"cudaIpcEventHandle_t expects byte-like object of size {IPC_HANDLE_BYTES}, "
                    f"but got {len(handle)}"
                )
            if not handle.startswith(IPC_MAGIC):
                ops().raise_runtime_error(MAP_BUFFER_OBJECT_FAILED)
            with torch.cuda.device(device):
                event = cls(interprocess=True)
                event.record(torch.cuda.current_stream())
            return event

        sycl_event = cuda_event

    EventBase.__name__ = f"_{kind.capitalize()}EventBase"
    return EventBase


def bindings(torch: ModuleType) -> dict[str, Any]:
    def spin(cycles: int) -> None:
        """A kernel that counts cycles of the current device's clock: its time is the host's."""
        if ops().is_capturing():
            return
        ops().start_kernel(-1)  # a lost device says so
        ops().start_work()
        time.sleep(max(cycles, 0) / (properties(ops().get_device()).clock_rate * 1000))

    def sleep(cycles: int) -> None:
        if not isinstance(cycles, int):
            raise TypeError("torch.cuda._sleep(): expected 'int'")
        tape = graphs.tape_here()
        if tape is None:
            spin(cycles)
        else:
            tape.call_kernel(spin, (cycles,), ())

    said: list[str] = []  # warnings that come once

    def set_sync_debug_mode(mode: int) -> None:
        # The words of THCPModule_cudaSetSyncDebugMode in torch/csrc/cuda/Module.cpp.
        text = (
            "Synchronization debug mode is a prototype feature and does not yet detect all "
            "synchronizing operations"
        )
        if not said or torch.is_warn_always_enabled():
            said.append(text)
            warnings.warn(text, stacklevel=3)
        if mode not in (0, 1, 2):
            raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
        ops().set_sync_debug_mode(mode)

    return {
        **of_kind(torch, "cuda"),
        "_cuda_synchronize": lambda: ops().synchronize(-1),
        "_cuda_sleep": sleep,
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
        "_cuda_get_sync_debug_mode": lambda: ops().sync_debug_mode(),
    }


def of_kind(torch: ModuleType, kind: str) -> dict[str, Any]:
    """The functions that CUDA and XPU both have, with the names of the given kind."""
    number = device_type(kind)

    def set_stream(stream_id: int = 0, device_index: int = 0, device_type: int = 0) -> None:
        stream = torch._C.Stream(
            stream_id=stream_id, device_index=device_index, device_type=device_type
        )
        ops().set_device(device_index)
        torch._C._accelerator_setStream(stream)

    return {
        f"_{kind.capitalize()}StreamBase": stream_base(torch, kind),
        f"_{kind.capitalize()}EventBase": event_base(torch, kind),
        f"_{kind}_getCurrentStream": lambda index: (ops().get_stream(index), index, number),
        f"_{kind}_getDefaultStream": lambda index: (0, index, number),
        f"_{kind}_getCurrentRawStream": lambda index: ops().get_stream(index),
        f"_{kind}_getStreamFromExternal": lambda pointer, index: (pointer, index, number),
        f"_{kind}_setStream": set_stream,
    }
