"""The export formats, one per file. A new file with a ``FORMAT`` adds a format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchport import _parts

if TYPE_CHECKING:
    from torchport.deploy.artefact.formats._format import Format


def names() -> list[str]:
    return _parts.names_in(__path__)


def get(name: str) -> Format:
    """Returns the format with this name. Raises ValueError if there is none."""
    found: Format = _parts.part_of(__name__, __path__, name, "format")
    return found
