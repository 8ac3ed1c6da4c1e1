"""The device policy and sizes: src/bindings/place.cpp and sizes.cpp."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

import torch

from torchport._native import call


@dataclass(frozen=True)
class DeviceChoice:
    """A chosen device, with the reason.

    Attributes:
        device: The torch.device.
        source: The setting that named it, such as "argument" or "TORCHPORT_DEVICE".
        reason: Why it was chosen.
        refused: A line for each preferred device that cannot be used.

    Example:
        >>> choice = torchport.choose_device("cpu")
        >>> choice.device, choice.source, choice.refused
        (device(type='cpu'), 'argument', [])
    """

    device: torch.device
    source: str
    reason: str
    refused: list[str]


@dataclass(frozen=True, repr=False)
class RunProfile:
    """The settings of a run profile; a setting that the profile does not have is None.

    Attributes:
        name: The profile's name.
        file: The file that it was read from.
        device: Devices in order of preference, as in `choose_device`.
        dtype: The floating-point type to compute in.
        batch_size: Samples in a batch.
        workers: Processes of a DataLoader.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("torchport.toml").write_text('profiles.ci = {device = "cpu", batch-size = 8}')
        >>> torchport.run_profile("ci")
        RunProfile('ci', device='cpu', batch_size=8)
        >>> Path("torchport.toml").unlink()
    """

    name: str
    file: str
    device: str | None
    dtype: torch.dtype | None
    batch_size: int | None
    workers: int | None

    def __repr__(self) -> str:
        said = ("device", "dtype", "batch_size", "workers")
        parts = [f"{key}={value!r}" for key in said if (value := getattr(self, key)) is not None]
        return f"RunProfile({self.name!r}, {', '.join(parts)})"


def choose_device(wanted: str = "", local_rank: int | None = None) -> DeviceChoice:
    """Chooses a device. ValueError for a text that is no list of devices, RuntimeError if none of
    them can be used."""
    raw = json.loads(call("choose_device", wanted, local_rank))
    return DeviceChoice(**{**raw, "device": torch.device(raw["device"])})


def run_profile(name: str = "", folder: str = "") -> RunProfile | None:
    """Reads a run profile. ValueError if no file has it, or if it has an invalid setting."""
    raw = json.loads(call("run_profile", name, folder))
    if raw is None:
        return None
    dtype = raw.pop("dtype")
    return RunProfile(**raw, dtype=getattr(torch, dtype) if dtype else None)


def free_memory(device: torch.device) -> int:
    """The free memory of a device in bytes."""
    if device.type != "cpu" and not hasattr(torch._C, "_accelerator_getMemoryInfo"):
        free: int = getattr(torch, device.type).mem_get_info(device)[0]  # until torch 2.9
        return free
    return cast(int, call("free_memory", device))


def parse_size(text: str) -> int:
    """The bytes of a size such as "5GB". ValueError if it is none."""
    return cast(int, call("parse_size", text))
