"""Measures the peak memory of a step: the process's on the CPU, the allocator's on accelerators."""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path

import torch

_STATUS = Path("/proc/self/status")


def _kilobytes(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text())
    assert found is not None  # proc(5) documents the field
    return int(found[1])


class HostMeter:
    """Measures the resident memory above that of the process before the model was made.

    This includes memory that torch's allocator does not see, such as the scratch memory of oneDNN
    and the memory of ONNX Runtime.
    """

    def __init__(self) -> None:
        _touch_libraries()
        self._trim()
        self._base = _kilobytes("VmRSS")

    def reset(self) -> None:
        self._trim()
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM, see proc(5)

    def peak(self) -> dict[str, int]:
        return {"peak": max(0, _kilobytes("VmHWM") - self._base) * 1024}

    @staticmethod
    def _trim() -> None:
        """Returns the heap's free memory to the system, so that the next step starts without it."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


def _touch_libraries() -> None:
    """Loads libraries that the first step of any model loads, so that they do not count."""
    x = torch.randn(2, 4, 8, 8, requires_grad=True)
    weight = torch.randn(4, 4, 3, 3)
    torch.nn.functional.conv2d(x, weight).sum().backward()
    (torch.randn(8, 8) @ torch.randn(8, 8)).sum()


class DeviceMeter:
    """Measures the memory that the device's allocator handed out and reserved."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def reset(self) -> None:
        gc.collect()
        torch.accelerator.reset_peak_memory_stats(self._device)

    def peak(self) -> dict[str, int]:
        torch.accelerator.synchronize(self._device)
        return {
            "peak": torch.accelerator.max_memory_allocated(self._device),
            "reserved": torch.accelerator.max_memory_reserved(self._device),
        }


def meter(device: torch.device) -> HostMeter | DeviceMeter:
    return HostMeter() if device.type == "cpu" else DeviceMeter(device)
