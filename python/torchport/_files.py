"""Files that are written completely or not at all, and how reports name a file."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from torchport._printable import printable


@contextmanager
def staged(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to instead of ``path``: the same name in a new folder beside it.

    At the end the files in that folder are synced to disk and moved beside ``path``. ``path``
    itself is moved last, so that a reader that finds it also finds the others. An error or ctrl-C
    leaves everything unchanged. The name stays the same because exporters write further files
    beside the given one and store their names in it.

    Raises:
        OSError: The folder of ``path`` is missing or cannot be written to, or the disk is full.
    """
    target = Path(path).absolute()
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder / target.name
        parts = sorted(folder.iterdir(), key=lambda part: part.name == target.name)
        for part in parts:
            _to_disk(part)
        for part in parts:
            os.replace(part, target.with_name(part.name))
        _to_disk(target.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replaces the file with ``text``, in UTF-8. Raises OSError."""
    with staged(path) as target:
        target.write_text(text, encoding="utf-8")


class OutputError(Exception):
    """Standard output cannot be written, for example because the disk is full."""


def say(text: str) -> None:
    """Prints the result of a command. A reader that closed the pipe, such as `head`, is no error.

    Raises:
        OutputError: The text was not written.
    """
    try:
        print(printable(text), flush=True)
    except OSError as error:
        # Else Python writes what is left when it ends, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(f"the output cannot be written: {error.strerror}") from None


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def short_path(path: str) -> str:
    """The path relative to the current folder if that is shorter. A line number may follow it."""
    if not os.path.isabs(path):
        return path
    try:
        return min(path, os.path.relpath(path), key=len)
    except OSError:  # the program deleted its folder
        return path


def open_to_read(path: str | os.PathLike[str]) -> BinaryIO:
    """Opens a file. Raises OSError at once for what is no regular file: to open a FIFO would wait for a
    writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")
