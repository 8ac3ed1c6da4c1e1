"""Files of weights with a hole in the place of the values, as large as the real ones and almost without blocks."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path

SIZES = {"F32": 4, "BF16": 2}  # bytes of an element, by the names of the format

_SAVES = """
import sys, torch
names = sys.argv[2:]
with torch.serialization.skip_data():
    torch.save({name: torch.empty(16384, 16384) for name in names}, sys.argv[1])
"""


def checkpoint(path: Path, names: Iterable[str]) -> Path:
    """A file of torch.save(): for each name 1 GiB, 16384 rows and columns of float32."""
    subprocess.run([sys.executable, "-c", _SAVES, str(path), *names], check=True)
    return path


def safetensors(path: Path, kind: str, tensors: Mapping[str, tuple[int, ...]]) -> Path:
    """A file of tensors of one type, by their sizes."""
    described: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in tensors.items():
        begin, end = end, end + prod(shape) * SIZES[kind]
        described[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    header = json.dumps(described).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + end)
    return path
