"""Devices: how many there are, which is current, what they are."""

from __future__ import annotations

import json
import uuid
from types import ModuleType, SimpleNamespace
from typing import Any


class DeviceProperties(SimpleNamespace):
    """What torch.cuda.get_device_properties() returns."""

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )


def bindings(torch: ModuleType) -> dict[str, Any]:
    native = torch._ops.ops.torchport if hasattr(torch, "_ops") else None

    def ops():  # type: ignore[no-untyped-def]
        nonlocal native
        if native is None:
            import torch._ops

            native = torch._ops.ops.torchport
        return native

    def properties(index: int) -> DeviceProperties:
        about = json.loads(ops().describe())
        profile = about["profile"]
        return DeviceProperties(
            **{k: v for k, v in profile.items() if k != "profile"},
            total_memory=about["memory"],
            is_multi_gpu_board=0,
            is_integrated=0,
            warp_size=32,
            gcnArchName=profile["name"],
            uuid=uuid.uuid5(uuid.NAMESPACE_OID, f"torchport:{profile['name']}:{index}"),
            pci_bus_id=index + 1,
            pci_device_id=0,
            pci_domain_id=0,
        )

    def exchange(index: int) -> int:
        old = ops().get_device()
        if index >= 0 and index != old:
            ops().set_device(index)
        return old

    def init() -> None:
        torch.cuda.default_generators = tuple(
            ops().default_generator(i) for i in range(ops().device_count())
        )
        torch.cuda.has_magma = True
        torch.cuda.has_half = True

    def get_arch_list() -> str:
        return "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"

    return {
        "_cuda_init": init,
        "_cuda_isInBadFork": lambda: False,
        "_cuda_getDeviceCount": lambda: ops().device_count(),
        "_cuda_getDevice": lambda: ops().get_device(),
        "_cuda_setDevice": lambda index: ops().set_device(index),
        "_cuda_exchangeDevice": exchange,
        "_cuda_maybeExchangeDevice": exchange,
        "_cuda_synchronize": lambda: None,
        "_cuda_getCompiledVersion": lambda: 12080,
        "_cuda_getArchFlags": get_arch_list,
        "_cuda_hasPrimaryContext": lambda index: True,
        "_cuda_canDeviceAccessPeer": lambda a, b: a != b,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_CudaDeviceProperties": DeviceProperties,
        "_get_device_properties": properties,
    }


def finish(torch: ModuleType) -> None:
    # torch.cuda takes this name from C only when it initialises.
    torch.cuda._get_device_properties = torch._C._get_device_properties
