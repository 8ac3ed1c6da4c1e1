"""torchport.require_same_device: an assertion that names the tensors."""

from __future__ import annotations

import os

import torch


def _require(**tensors: torch.Tensor | None) -> None:
    """Raises unless all tensors are on one device; the error says which one is where.

    Like ``assert`` it is switched off by ``python -O``, and by ``TORCHPORT_CHECKS=0`` in the
    environment when it is first used. Off, it is a function that does nothing. Thread safe.

    Args:
        tensors: Tensors of any shape, by name. None is passed over, as are values without a device.

    Raises:
        RuntimeError: The tensors are on several devices.

    Example:
        >>> torchport.require_same_device(x=torch.ones(1), mask=torch.ones(1))
    """
    devices = {
        name: tensor.device
        for name, tensor in tensors.items()
        if tensor is not None and hasattr(tensor, "device")
    }
    if len(set(devices.values())) > 1:
        told = ", ".join(f"{name} is on {device}" for name, device in devices.items())
        raise RuntimeError(
            f"torchport: these tensors have to be on the same device: {told}. Move the ones that are "
            "in the wrong place, for example with .to(other.device)."
        )


def _nothing(**tensors: torch.Tensor | None) -> None:
    """The check while it is switched off."""


on = __debug__ and os.environ.get("TORCHPORT_CHECKS", "1") != "0"
require_same_device = _require if on else _nothing
