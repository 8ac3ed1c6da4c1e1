"""Parts of files of torch.distributed.checkpoint that go to a device without data are not read.

Each tensor of such a file is a file of torch.save() of its own, of which torch.load() gets a view. It is
mapped as a whole file is (`checkpoints`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ZIP = b"PK\x03\x04"


class Part(NamedTuple):
    path: str
    begin: int
    end: int


def part_behind(given: Any) -> Part | None:
    """The part of a file that a view of it shows; none if it is something else, or not of torch.save()."""
    if type(given).__name__ != "_ReaderView":
        return None
    with suppress(Exception):  # another release's view, or one of what is no file
        begin, size, number = int(given.offset), int(given.len), given.base_stream.fileno()
        path = os.path.realpath(f"/proc/self/fd/{number}")
        whole = begin + size <= Path(path).stat().st_size
        if whole and os.pread(number, len(ZIP), begin) == ZIP:
            return Part(path, begin, begin + size)
    return None


def load(serialization: Any, torch: Any, view: Any, part: Part, map_location: Any) -> Any:
    """As torch.load(view, map_location, weights_only=True)."""
    whole = torch.UntypedStorage.from_file(part.path, False, Path(part.path).stat().st_size)
    view.seek(0)
    with serialization._open_zipfile_reader(view) as archive:
        return serialization._load(
            archive,
            map_location,
            serialization._weights_only_unpickler,
            overall_storage=whole[part.begin : part.end],
            encoding="utf-8",
        )
