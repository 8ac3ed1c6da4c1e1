"""Which classes of a torch.save file are unpickled: those that torch and the program allow, and plain
values of the standard library and of NumPy that programs keep beside their weights."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import pathlib
import types
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

# Their constructors only store values: none reads a file, starts a program or calls an argument.
_PLAIN: tuple[Any, ...] = (
    argparse.Namespace,
    types.SimpleNamespace,
    collections.defaultdict,
    collections.deque,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    uuid.UUID,
    uuid.SafeUUID,
    frozenset,
    range,
    slice,
)
# Files name these after the system that wrote them; here they only hold text.
_PATHS = {
    "pathlib.PosixPath": pathlib.PurePosixPath,
    "pathlib.WindowsPath": pathlib.PureWindowsPath,
    "pathlib._local.PosixPath": pathlib.PurePosixPath,
    "pathlib._local.WindowsPath": pathlib.PureWindowsPath,
    "pathlib._local.PurePosixPath": pathlib.PurePosixPath,
    "pathlib._local.PureWindowsPath": pathlib.PureWindowsPath,
}


def allowed_beside(refused: Sequence[str]) -> AbstractContextManager[Any] | None:
    """A context in which ``torch.load(weights_only=True)`` takes the names that it refuses
    otherwise; None if some of them are not plain values and the program has not allowed them with
    ``torch.serialization.add_safe_globals``.
    """
    known = {name: value for name, value in _plain_values()}
    own = {_name_of(entry) for entry in torch.serialization.get_safe_globals()}
    needed = [name for name in refused if name not in own]
    if any(name not in known for name in needed):
        return None
    entries: list[Any] = [(known[name], name) for name in needed]
    if any(name.startswith("numpy.") for name in needed):
        entries += [(value, name) for name, value in known.items() if name.startswith("numpy.")]
    return torch.serialization.safe_globals(entries)


def _name_of(entry: Any) -> str:
    if isinstance(entry, tuple):
        return str(entry[1])
    return f"{entry.__module__}.{entry.__qualname__}"


def _plain_values() -> Iterator[tuple[str, Any]]:
    for kind in _PLAIN:
        yield f"{kind.__module__}.{kind.__qualname__}", kind
    yield from _PATHS.items()
    try:
        import numpy
        from numpy._core import multiarray
    except ImportError:
        return
    yield "numpy.dtype", numpy.dtype
    yield "numpy.ndarray", numpy.ndarray
    for core in ("numpy._core", "numpy.core"):  # NumPy 2 and 1
        yield f"{core}.multiarray.scalar", multiarray.scalar
        yield f"{core}.multiarray._reconstruct", multiarray._reconstruct
    for kind in vars(numpy.dtypes).values():
        if isinstance(kind, type):
            yield f"{kind.__module__}.{kind.__qualname__}", kind
