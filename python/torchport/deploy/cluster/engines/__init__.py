"""What starts workers on other machines, one per file. A new file with an ``ENGINE`` adds one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchport import _parts

if TYPE_CHECKING:
    from torchport.deploy.cluster.engines._engine import ClusterEngine


def names() -> list[str]:
    return _parts.names_in(__path__)


def get(name: str) -> ClusterEngine:
    """Returns the engine with this name. Raises ValueError if there is none."""
    found: ClusterEngine = _parts.part_of(__name__, __path__, name, "engine")
    return found
