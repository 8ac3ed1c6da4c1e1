"""Placement: one device policy, moving, modules, checkpoints."""

from torchport.place.adoption import Adoption, adopt
from torchport.place.checkpoints import CheckpointError, load, report
from torchport.place.kernels import Kernel, kernel
from torchport.place.moving import numpy, on_device, to
from torchport.place.policy import choose, device, profile
from torchport.place.saving import save

__all__ = [
    "Adoption",
    "CheckpointError",
    "Kernel",
    "adopt",
    "choose",
    "device",
    "kernel",
    "load",
    "numpy",
    "on_device",
    "profile",
    "report",
    "save",
    "to",
]
