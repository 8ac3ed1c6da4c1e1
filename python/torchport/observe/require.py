"""torchport.require_same_device: an assertion that names the tensors."""

from __future__ import annotations

import os

import torch

from torchport._on_devices import on_devices


def _require(**tensors: torch.Tensor | None) -> None:
    """Raises an error unless all tensors are on one device. The message has the device of each.

    Like ``assert``, the check is switched off by ``python -O``; the environment variable
    ``TORCHPORT_CHECKS=0``, read at first use, also switches it off. Thread safe.

    Args:
        tensors: Tensors of any shape, by name. None and values without a device are ignored.

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
        raise RuntimeError(
            f"torchport: the tensors must be on one device; got {on_devices(devices.items())}; "
            "move those that are on the wrong one, for example with .to(other.device)"
        )


def _nothing(**tensors: torch.Tensor | None) -> None:
    """Replaces the check when it is switched off."""


on = __debug__ and os.environ.get("TORCHPORT_CHECKS", "1") != "0"
require_same_device = _require if on else _nothing
