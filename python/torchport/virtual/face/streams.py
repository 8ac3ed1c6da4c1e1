"""Streams and events. Work is done when its call returns; streams keep identities, events times."""

from __future__ import annotations

from types import ModuleType
from typing import Any

CUDA = 1  # c10::DeviceType::CUDA


def bindings(torch: ModuleType) -> dict[str, Any]:
    def ops():  # type: ignore[no-untyped-def]
        import torch._ops

        return torch._ops.ops.torchport

    class _CudaStreamBase(torch._C.Stream):
        def __new__(
            cls, priority=0, stream_id=0, device_index=0, device_type=0, stream_ptr=0, **kwargs
        ):
            if stream_id or device_type:
                return super().__new__(
                    cls, stream_id=stream_id, device_index=device_index, device_type=CUDA
                )
            index = ops().get_device()
            return super().__new__(cls, device=f"cuda:{index}", priority=priority)

        @property
        def cuda_stream(self) -> int:
            return self.stream_id

        @property
        def priority(self) -> int:
            return -1 if (self.stream_id >> 1) & 0b1111 == 3 else 0

        @staticmethod
        def priority_range():
            return (0, -5)

    class _CudaEventBase(torch._C.Event):
        def __new__(
            cls, enable_timing=False, blocking=False, interprocess=False, external=False, **kwargs
        ):
            return super().__new__(
                cls,
                device="cuda",
                enable_timing=enable_timing,
                blocking=blocking,
                interprocess=interprocess,
            )

        @property
        def cuda_event(self) -> int:
            return self.event_id

    def current(index: int):
        return (ops().get_stream(index), index, CUDA)

    return {
        "_CudaStreamBase": _CudaStreamBase,
        "_CudaEventBase": _CudaEventBase,
        "_cuda_getCurrentStream": current,
        "_cuda_getDefaultStream": lambda index: (0, index, CUDA),
        "_cuda_getCurrentRawStream": lambda index: ops().get_stream(index),
        "_cuda_setStream": lambda stream_id, device_index, device_type: (
            torch._C._set_stream(stream_id, device_index, device_type)
            if hasattr(torch._C, "_set_stream")
            else torch.accelerator.set_stream(
                torch.Stream(
                    stream_id=stream_id, device_index=device_index, device_type=device_type
                )
            )
        ),
    }
