"""The device policy: one answer to where a program computes, with the reason."""

from __future__ import annotations

import logging
from functools import cache

import torch

from torchport._native import C

DeviceChoice = C.DeviceChoice

_log = logging.getLogger("torchport")


def choose_device(
    wanted: str | torch.device | None = None, *, local_rank: int | None = None
) -> DeviceChoice:
    """The device to compute on, as an object with `device`, `source`, `reason` and `refused`.

    ``wanted`` lists places in order of preference: a kind (``"cuda"``), one device (``"cuda:1"``), the
    one with most free memory (``"cuda:free"``), ``"auto"`` for ``"cuda,mps,xpu,cpu"``. Without it:
    TORCHPORT_DEVICE, then the profile's ``device`` (see `run_profile`), then "auto". ``local_rank`` picks
    one of several devices; without it LOCAL_RANK does, as torchrun sets it.

    Raises ValueError for what is no place, RuntimeError where none of the places is there; both say
    why. No device is initialised. Thread safe.
    """
    return C.choose_device("" if wanted is None else str(wanted), local_rank)


@cache
def _of_the_program() -> torch.device:
    choice = choose_device()
    _log.info("%s: %s (%s)", choice.device, choice.reason, choice.source)
    for refused in choice.refused:
        _log.info("not %s", refused)
    return choice.device


def device(
    wanted: str | torch.device | None = None, *, local_rank: int | None = None
) -> torch.device:
    """The device to compute on; without arguments the program's own, which is chosen once.

    As it is a `torch.device`, ``with torchport.device("cuda,cpu"):`` makes factories follow it. Why it
    was chosen is told by `choose_device`, and logged to "torchport" at INFO. Arguments and errors: `choose_device`.
    """
    if wanted is None and local_rank is None:
        return _of_the_program()
    return choose_device(wanted, local_rank=local_rank).device


def run_profile(name: str | None = None, folder: str | None = None) -> RunProfile | None:
    """What a program is to use in a situation: `device`, `dtype`, `batch_size`, `workers`, or None.

    Read from ``[tool.torchport.profiles.NAME]`` of pyproject.toml or ``[profiles.NAME]`` of
    torchport.toml, from ``folder`` (the current one) upwards. Without ``name``: TORCHPORT_PROFILE, then
    "default". None where no name was asked for and there is no default. ``dtype`` is a `torch.dtype`.

    Raises ValueError for a name that no file has, an unknown key, or a value that cannot be.
    """
    found = C.run_profile(name or "", folder or "")
    return None if found is None else RunProfile(found)


class RunProfile:
    """Settings of one situation; what it does not say is None."""

    def __init__(self, found: C.RunProfile) -> None:
        self.name: str = found.name
        self.file: str = found.file
        self.device: str | None = found.device
        self.dtype: torch.dtype | None = getattr(torch, found.dtype) if found.dtype else None
        self.batch_size: int | None = found.batch_size
        self.workers: int | None = found.workers

    def __repr__(self) -> str:
        said = ("device", "dtype", "batch_size", "workers")
        parts = [f"{key}={value!r}" for key in said if (value := getattr(self, key)) is not None]
        return f"RunProfile({self.name!r}, {', '.join(parts)})"
