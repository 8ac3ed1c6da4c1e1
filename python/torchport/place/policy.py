"""The device policy: chooses where a program computes, and says why."""

from __future__ import annotations

import logging
from functools import cache

import torch

from torchport._native import devices
from torchport._native.devices import DeviceChoice as DeviceChoice
from torchport._native.devices import RunProfile as RunProfile

_log = logging.getLogger("torchport")


def choose_device(
    wanted: str | torch.device | None = None, *, local_rank: int | None = None
) -> DeviceChoice:
    """Chooses the device to compute on, and says why. It does not initialise a device. Thread safe.

    Args:
        wanted: Devices in order of preference: a kind ("cuda"), one device ("cuda:1"), the one
            with most free memory ("cuda:free"), or "auto" for each kind in order of preference and
            then the CPU. The default is the variable TORCHPORT_DEVICE, then the ``device`` of the
            profile (see `run_profile`), then "auto".
        local_rank: The index of the device among several of its kind. The default is the variable
            LOCAL_RANK, which torchrun sets.

    Returns:
        An object with ``device`` (a `torch.device`), ``source`` (the setting that named it),
        ``reason``, and ``refused`` (a line for each preferred device that cannot be used).

    Raises:
        ValueError: ``wanted`` names something that is not a device.
        RuntimeError: None of the devices can be used. The message gives the reason for each.

    Example:
        >>> choice = torchport.choose_device("cpu")
        >>> choice.device, choice.source, choice.reason
        (device(type='cpu'), 'argument', 'cpu is always there')
    """
    return devices.choose_device("" if wanted is None else str(wanted), local_rank)


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
    """Returns the device to compute on. Without arguments, this is the program's own device.

    The program's own device is chosen once, and logged with the reason ("torchport", INFO). The
    result is a `torch.device`, so factories use it within ``with torchport.device("cuda,cpu"):``.

    Args:
        wanted: As in `choose_device`.
        local_rank: As in `choose_device`.

    Returns:
        The device, with an index for kinds that can have several.

    Raises:
        ValueError: ``wanted`` names something that is not a device.
        RuntimeError: None of the devices can be used. The message gives the reason for each.

    Example:
        >>> torchport.device("cpu")
        device(type='cpu')
    """
    if wanted is None and local_rank is None:
        return _of_the_program()
    return choose_device(wanted, local_rank=local_rank).device


def run_profile(name: str | None = None, folder: str | None = None) -> RunProfile | None:
    """Reads the settings of a run profile from the project's file.

    They are in ``[tool.torchport.profiles.NAME]`` of pyproject.toml, or in ``[profiles.NAME]`` of
    torchport.toml.

    Args:
        name: The profile. The default is the variable TORCHPORT_PROFILE, then "default".
        folder: The folder in which the upward search for the file begins. The default is the
            current folder.

    Returns:
        The profile, or None if no name was given and there is no profile "default".

    Raises:
        ValueError: No file has the profile, or the profile has an unknown key or an invalid value.

    Example:
        >>> profile = torchport.run_profile()
        >>> batch_size = (profile and profile.batch_size) or 32
    """
    return devices.run_profile(name or "", folder or "")
