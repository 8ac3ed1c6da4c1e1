"""Devices: their number, the current one, their properties, and the state after a fork."""

from __future__ import annotations

import ctypes
import json
import uuid
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim._native import ops, refusing

KINDS = ("cuda",)

CUDA = 1  # c10::DeviceType::CUDA


class DeviceProperties(SimpleNamespace):
    """The result of torch.cuda.get_device_properties()."""

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )


def properties(index: int) -> DeviceProperties:
    about = json.loads(ops().describe())
    profile = about["profile"]
    number = about["visible"][index]  # among all devices, as the driver counts them
    return DeviceProperties(
        **{k: v for k, v in profile.items() if k != "profile"},
        total_memory=about["memory"],
        is_multi_gpu_board=0,
        is_integrated=0,
        warp_size=32,
        max_threads_per_block=1024,
        gcnArchName=profile["name"],
        uuid=uuid.UUID(about["uuids"][number].removeprefix("GPU-")),
        pci_bus_id=number + 1,
        pci_device_id=0,
        pci_domain_id=0,
    )


class ForkWatch:
    """Knows whether CUDA is unusable because a process that had called it was forked.

    Virtual devices would work after a fork, but programs must get the error of real devices. torch
    keeps this state in C++ (torch/csrc/utils/device_lazy_init.h); no name of torch._C gives access
    to it.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._library = Path(torch.__file__ or "").parent / "lib" / "libtorch_python.so"
        self._watching = False

    def _function(self, name: str, result: Any) -> Any:
        function = getattr(
            ctypes.CDLL(str(self._library)), f"_ZN5torch5utils{len(name)}{name}EN3c1010DeviceTypeE"
        )
        function.argtypes, function.restype = [ctypes.c_int8], result
        return function

    def start(self) -> None:
        if not self._watching:
            self._watching = True
            self._function("register_fork_handler_for_device_init", None)(CUDA)

    def in_bad_fork(self) -> bool:
        return self._watching and self._function("is_device_in_bad_fork", ctypes.c_bool)(CUDA)


def bindings(torch: ModuleType) -> dict[str, Any]:
    forks = ForkWatch(torch)

    def exchange(index: int) -> int:
        if index < 0:
            return -1
        torch.cuda._lazy_init()
        old: int = ops().get_device()
        if index != old:
            ops().set_device(index)
        return old

    def set_device(index: int) -> None:
        torch.cuda._lazy_init()
        ops().set_device(index)

    def device_count() -> int:
        forks.start()
        return int(ops().device_count())

    def init() -> None:
        if ops().device_count() == 0:
            raise RuntimeError("No CUDA GPUs are available")
        forks.start()
        torch.cuda.default_generators = tuple(
            ops().default_generator(i) for i in range(ops().device_count())
        )
        torch.cuda.has_magma = True
        torch.cuda.has_half = True
        if hasattr(torch._C, "set_vital"):  # until torch 2.11
            torch._C.set_vital("CUDA", "used", "true")

    handles = "there is no CUDA library that could take a handle"
    return {
        "_cuda_init": init,
        "_cuda_isInBadFork": forks.in_bad_fork,
        "_cuda_getDeviceCount": device_count,
        "_cuda_getDevice": lambda: ops().get_device(),
        "_cuda_setDevice": set_device,
        "_cuda_exchangeDevice": exchange,
        # A separate function, because torch.compile distinguishes the two.
        "_cuda_maybeExchangeDevice": lambda index: exchange(index),
        "_cuda_hasPrimaryContext": lambda index: torch.cuda.is_initialized(),
        "_cuda_canDeviceAccessPeer": lambda a, b: a != b,
        "_cuda_getCurrentBlasHandle": refusing("torch.cuda.current_blas_handle", handles),
        "_cuda_getCurrentSolverHandle": refusing("torch.cuda.current_solver_handle", handles),
        "_CudaDeviceProperties": DeviceProperties,
        "_get_device_properties": properties,
    }


def finish(torch: ModuleType) -> None:
    # torch.cuda copies this name from torch._C only when it initialises.
    torch.cuda._get_device_properties = torch._C._get_device_properties
    count_by_nvml = torch.cuda._device_count_nvml

    # torch counts by NVML to leave CUDA uninitialised, so that processes can still be forked. The
    # NVML of the host would count its real devices.
    def device_count_nvml() -> int:
        # What was visible when CUDA was initialised stays so.
        return -1 if torch.cuda.is_initialized() else int(count_by_nvml())

    torch.cuda._device_count_nvml = device_count_nvml
    torch.cuda._raw_device_count_nvml = lambda: json.loads(ops().describe())["count"]
    torch.cuda._raw_device_uuid_nvml = lambda: json.loads(ops().describe())["uuids"]
