"""What dynamo and inductor ask of a device of a kind that they do not know: the answers of `torch.KIND`.

A backend's package registers this for its devices (torch._dynamo.device_interface).
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim._native import ops


def install(device: str) -> None:
    """Registers the interface of this kind of device unless torch has one."""
    from torch._dynamo import device_interface

    # The function that lists them would count all devices, and an import is no use of devices.
    has_own = hasattr(device_interface, f"{device.capitalize()}Interface")
    if not has_own and device not in device_interface.device_interfaces:
        device_interface.register_interface_for_device(device, _interface_of(device))


def register_calls(device: str) -> None:
    """Registers what the generated Python calls for this kind of device unless inductor knows it. Call
    it when inductor registers its own devices."""
    from torch._inductor.codegen.common import get_device_op_overrides, register_device_op_overrides

    try:
        get_device_op_overrides(device)
        return
    except KeyError:
        pass
    # Not before: earlier releases register inductor's own calls only if nobody has registered any.
    from torch._inductor.codegen.cpu_device_op_overrides import CpuDeviceOpOverrides

    class Calls(CpuDeviceOpOverrides):
        def set_device(self, device_idx: int) -> str:
            return f"torch.{device}.set_device({device_idx})"

        def synchronize(self) -> str:
            return f"torch.{device}.synchronize()"

        def device_guard(self, device_idx: int) -> str:
            return f"torch.{device}.device({device_idx})"

    register_device_op_overrides(device, Calls())


def _interface_of(kind: str) -> Any:
    import torch
    from torch._dynamo.device_interface import DeviceInterface

    module = getattr(torch, kind)

    def properties(device: Any = None) -> Any:
        # Inductor asks for this name, which not every package uses.
        cores = json.loads(ops().describe())["profile"]["multi_processor_count"]
        return SimpleNamespace(
            **{"multi_processor_count": cores, **vars(module.get_device_properties(device))}
        )

    def exchange_device(index: int) -> int:
        before = int(module.current_device())
        if index >= 0:
            module.set_device(index)
        return before

    class Interface(DeviceInterface):
        device = module.device
        Event = module.Event
        Stream = module.Stream

        class Worker:
            set_device = staticmethod(module.set_device)
            current_device = staticmethod(module.current_device)
            get_device_properties = staticmethod(properties)

        current_device = staticmethod(module.current_device)
        set_device = staticmethod(module.set_device)
        device_count = staticmethod(module.device_count)
        is_available = staticmethod(module.is_available)
        stream = staticmethod(module.stream)
        current_stream = staticmethod(module.current_stream)
        set_stream = staticmethod(module.set_stream)
        synchronize = staticmethod(module.synchronize)
        memory_allocated = staticmethod(module.memory_allocated)

        @staticmethod
        def exchange_device(device: int) -> int:
            return exchange_device(device)

        @staticmethod
        def maybe_exchange_device(device: int) -> int:
            return exchange_device(device)

        @staticmethod
        def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
            named = {"stream_id": stream_id, "device_index": device_index}
            module.set_stream(torch.Stream(**named, device_type=device_type))

        @staticmethod
        def get_raw_stream(device_idx: int) -> int:
            return int(module.current_stream(device_idx).stream_id)

        @staticmethod
        def get_compute_capability(device: Any = None) -> str:
            return ""

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return bool(module.is_bf16_supported())

    return Interface
