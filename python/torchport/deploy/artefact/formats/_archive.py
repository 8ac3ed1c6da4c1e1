"""Contracts in the ZIP archives that torch writes, stored as one more record under extra/."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

RECORD = "extra/torchport.json"


def write(path: Path, save: Callable[[BinaryIO], object]) -> None:
    """Writes the output of ``save`` to ``path`` by way of memory.

    If the disk is full, torch's own archive writer ends the process, because it throws in its
    destructor. Python raises OSError instead.
    """
    buffer = io.BytesIO()
    save(buffer)
    path.write_bytes(buffer.getbuffer())


def attach(path: Path, contract: str) -> None:
    """Appends the contract, so that the bytes that were compared with the model do not change."""
    with zipfile.ZipFile(path, "a") as archive:
        root = archive.namelist()[0].partition("/")[0]
        archive.writestr(f"{root}/{RECORD}", contract)


def kept_bytes(path: Path) -> int:
    """The size of all records. Behind them stands the list of records, which `attach` writes anew."""
    with zipfile.ZipFile(path) as archive:
        return int(archive.start_dir)


def contract(path: Path) -> str | None:
    """The contract in an archive; None without one. zipfile.BadZipFile for other files."""
    with zipfile.ZipFile(path) as archive:
        name = next((n for n in archive.namelist() if n.endswith(f"/{RECORD}")), None)
        return archive.read(name).decode() if name else None
