"""The driver that Triton asks for the device: what torch.cuda says of the virtual one."""

from __future__ import annotations

import importlib
from typing import Any

from torchport.virtual.torch_c_shim._native import refusing

_NO_GPU = "there is no GPU that could run compiled code"


class VirtualUtils:
    """In place of CudaUtils, which Triton compiles against libcuda.so."""

    load_binary = staticmethod(refusing("triton's load_binary", _NO_GPU))
    launch = staticmethod(refusing("triton's launcher", _NO_GPU))
    fill_tma_descriptor_tiled = staticmethod(refusing("TMA descriptors of the driver", _NO_GPU))
    fill_tma_descriptor_im2col = staticmethod(refusing("TMA descriptors of the driver", _NO_GPU))
    cuOccupancyMaxActiveClusters = staticmethod(
        refusing("cuOccupancyMaxActiveClusters", "the kernel is not compiled for the device")
    )

    @staticmethod
    def set_printf_fifo_size(size: int) -> None:
        """`tl.device_print` needs no buffer here."""

    @staticmethod
    def get_device_properties(device: int) -> dict[str, int]:
        """What triton/backends/nvidia/driver.c reads from the driver: bytes, counts, kHz and bits."""
        import torch

        facts: Any = torch.cuda.get_device_properties(device)
        return {
            "max_shared_mem": facts.shared_memory_per_block_optin,
            "max_num_regs": facts.regs_per_multiprocessor,
            "multiprocessor_count": facts.multi_processor_count,
            "warpSize": facts.warp_size,
            "sm_clock_rate": getattr(facts, "clock_rate", 0),
            "mem_clock_rate": getattr(facts, "memory_clock_rate", 0),
            "mem_bus_width": getattr(facts, "memory_bus_width", 0),
        }


class Launcher:
    """In place of CudaLauncher. A compiled kernel holds one, and cannot be started."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.launch = VirtualUtils.launch

    __call__ = staticmethod(VirtualUtils.launch)


def _driver_of(base: Any) -> Any:
    class VirtualCudaDriver(base):  # type: ignore[misc]
        """Triton's CudaDriver, without libcuda.so."""

        def __init__(self) -> None:
            import torch

            self.utils = VirtualUtils()
            self.launcher_cls = Launcher
            self.get_device_capability = torch.cuda.get_device_capability
            self.get_current_device = torch.cuda.current_device
            self.set_current_device = torch.cuda.set_device

        def get_current_stream(self, device: int | None = None) -> int:
            import torch

            return int(torch.cuda.current_stream(device).cuda_stream)

        def get_empty_cache_for_benchmark(self) -> Any:
            """There is no L2 cache to clear, so the 256 MB that Triton would write are left out."""
            import torch

            return torch.empty(1, dtype=torch.int, device="cuda")

    VirtualCudaDriver.__name__ = VirtualCudaDriver.__qualname__ = base.__name__
    return VirtualCudaDriver


def install() -> None:
    """Puts the driver in the place of Triton's for CUDA. It is made when Triton first asks for it, and
    only then is torch imported."""
    backends = importlib.import_module("triton.backends")
    nvidia = importlib.import_module("triton.backends.nvidia.driver")
    virtual = _driver_of(nvidia.CudaDriver)
    vars(nvidia).update(CudaDriver=virtual, CudaUtils=VirtualUtils, CudaLauncher=Launcher)
    entry = backends.backends["nvidia"]
    backends.backends["nvidia"] = type(entry)(compiler=entry.compiler, driver=virtual)
