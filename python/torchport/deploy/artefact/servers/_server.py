"""The interface of a model server: where its artefact lies, and what lies beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar


class Server(ABC):
    """A server has no state. Its methods are thread safe for different folders."""

    name: ClassVar[str]

    @abstractmethod
    def refuses(self, format_: str) -> str:
        """Why the server does not run artefacts of this format, and what to do instead; empty if it
        does."""

    @contextmanager
    @abstractmethod
    def version(self, folder: Path, format_: str) -> Iterator[Publication]:
        """Makes room for a version of the model in its folder. What was written is there as a whole
        after `Publication.publish`, or not at all.

        Raises ExportError if the folder is not one of the server's.
        """
        yield Publication(folder)


class Publication:
    """An artefact that is being written to a file of its own."""

    def __init__(self, artefact: Path) -> None:
        self.artefact = artefact  # the file to write

    def publish(self, contract: dict[str, Any]) -> Path:
        """Puts the written file where it belongs. Returns its path."""
        return self.artefact
