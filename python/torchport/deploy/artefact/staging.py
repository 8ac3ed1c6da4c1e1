"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torchport.deploy.artefact.errors import ExportError


@contextmanager
def staged(path: Path, expected_bytes: int) -> Iterator[Path]:
    """A path to write to, of the same name in a folder beside ``path``; what lies in that folder at
    the end takes its place there, ``path`` itself last. An error or ctrl-C leaves all as it was.

    Raises ExportError where the folder is not there, cannot be written, or has too little room.
    """
    path = path.absolute()
    if path.is_dir():
        raise ExportError(f"{path} is a folder; say the file to write")
    if not path.parent.is_dir():
        raise ExportError(f"cannot write {path}: there is no folder {path.parent}")
    free = shutil.disk_usage(path.parent).free
    if free < expected_bytes:
        raise ExportError(
            f"cannot write {path}: the weights alone take {megabytes(expected_bytes)}, and the disk "
            f"has {megabytes(free)} left"
        )
    try:
        folder = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ExportError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        yield Path(folder, path.name)
        parts = sorted(Path(folder).iterdir(), key=lambda part: part.name == path.name)
        for part in parts:
            _to_disk(part)
        for part in parts:
            os.replace(part, path.with_name(part.name))
        _to_disk(path.parent)
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
