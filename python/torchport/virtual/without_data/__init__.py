"""Devices without data (`torchport run --no-data`): what is Python's of them.

The rest is in C++ (src/runtime/virtual/without_data).
"""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType

from torchport._startup import VARIABLE


def wanted() -> bool:
    """Whether the devices of this process have no data; torch may not be imported yet."""
    return ",data=" in os.environ.get(VARIABLE, "")


def kept_bytes(torch: ModuleType) -> int:
    """The bytes up to which tensors of the devices have values."""
    found: int = json.loads(torch._ops.ops.torchport.describe())["data"]
    return found


def install(torch: ModuleType) -> None:
    """Called after torch is imported."""
    if wanted():
        from torchport.virtual.without_data import checkpoints, convolutions

        checkpoints.install(torch, kept_bytes(torch))
        convolutions.install(torch)


def uncertain() -> list[str]:
    """Why the figures of a plan may be others, in words."""
    compiled = sys.modules.get("torchport.virtual.without_data.compiled")
    return [] if compiled is None else compiled.uncertain()
