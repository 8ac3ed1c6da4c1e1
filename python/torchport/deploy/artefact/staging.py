"""Writes an artefact completely or not at all, and first checks the free disk space."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torchport import _files
from torchport._quantities import size
from torchport.deploy.artefact.errors import ExportError


@contextmanager
def staged(path: Path, expected_bytes: int) -> Iterator[Path]:
    """Yields a path to write the artefact to; at the end the file replaces the one at ``path``
    (`torchport._files.staged`).

    Raises ExportError if the folder does not exist or cannot be written to, or the disk has too
    little space.
    """
    path = path.absolute()
    if path.is_dir():
        raise ExportError(f"{path} is a folder; name the file to write")
    if not path.parent.is_dir():
        raise ExportError(f"cannot write {path}: there is no folder {path.parent}")
    free = shutil.disk_usage(path.parent).free
    if free < expected_bytes:
        raise ExportError(
            f"cannot write {path}: the weights need {size(expected_bytes)}, and the disk has only "
            f"{size(free)} left"
        )
    try:
        with _files.staged(path) as target:
            yield target
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror or error}") from error
