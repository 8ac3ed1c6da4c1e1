"""Contracts in the zip archives that torch writes: a record more under extra/, as torch has them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

RECORD = "extra/torchport.json"


def write(path: Path, save: Callable[[BinaryIO], object]) -> None:
    """What ``save`` writes, by way of memory: torch's own writer of archives ends the process where a
    disk is full (it throws in its destructor), Python's raises OSError.
    """
    buffer = io.BytesIO()
    save(buffer)
    path.write_bytes(buffer.getbuffer())


def attach(path: Path, contract: str) -> None:
    """Appended, so that what was compared with the model stays byte for byte."""
    with zipfile.ZipFile(path, "a") as archive:
        root = archive.namelist()[0].partition("/")[0]
        archive.writestr(f"{root}/{RECORD}", contract)


def contract(path: Path) -> str | None:
    """Raises zipfile.BadZipFile for a file that is not an archive or is truncated."""
    with zipfile.ZipFile(path) as archive:
        name = next((n for n in archive.namelist() if n.endswith(f"/{RECORD}")), None)
        return archive.read(name).decode() if name else None
