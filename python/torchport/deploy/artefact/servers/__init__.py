"""The servers that an artefact can be laid out for, one per file. A new file with a ``SERVER`` adds
one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchport import _parts

if TYPE_CHECKING:
    from torchport.deploy.artefact.servers._server import Server


def names() -> list[str]:
    return _parts.names_in(__path__)


def get(name: str) -> Server:
    """Returns the server with this name. Raises ValueError if there is none."""
    found: Server = _parts.part_of(__name__, __path__, name, "server")
    return found
