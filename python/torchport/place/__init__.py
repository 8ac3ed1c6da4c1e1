"""Placement: one device policy, moving, modules, checkpoints."""

from torchport.place.adoption import Adoption, adopt
from torchport.place.kernels import Kernel, kernel

__all__ = ["Adoption", "Kernel", "adopt", "kernel"]
