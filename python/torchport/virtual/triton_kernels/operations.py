"""Parts of the builder in `arithmetic` that need nothing of it."""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any

import numpy as np

Array = Any
Handle = Any


def whole(data: Array, shape: Any, kind: Any) -> Array:
    return np.ascontiguousarray(np.broadcast_to(data, shape).astype(kind, copy=False))


def remembering(find: Any, tl: Any) -> Any:
    """The type of NumPy for one of Triton; `find` makes a table of all of them for each question."""
    known: dict[str, Any] = {}
    pointer = np.dtype(np.uint64)

    def np_dtype(kind: Any) -> Any:
        scalar = kind.scalar
        if isinstance(scalar, tl.pointer_type):
            return pointer
        found = known.get(scalar.name)
        if found is None:
            found = known[scalar.name] = find(scalar)
        return found

    return np_dtype


class Call:
    """What inline_asm_elementwise asks for its results."""

    def __init__(self, handles: list[Handle]) -> None:
        self._handles = handles

    def get_result(self, index: int) -> Handle:
        return self._handles[index]


def printed(value: Any) -> str:
    return f"{float(value):f}" if isinstance(value, np.floating) else str(int(value))


@functools.cache
def loses_bits() -> bool:
    return os.environ.get("TORCHPORT_TF32") == "on"


def high_word(a: Array, b: Array) -> Array:
    """The upper 64 bits of the products of 64-bit integers."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> half) + (other >> half)


_E2M1 = np.array(
    [s * v for s, v in itertools.product((1, -1), (0, 0.5, 1, 1.5, 2, 3, 4, 6))], np.float32
)


def scaled(data: Array, scale: Handle | None, name: str, packed: bool, of_lhs: bool) -> Array:
    """An operand of `tl.dot_scaled` in float32. Scales are powers of two for each group of K, in the last
    axis of the scale for both operands (OCP Microscaling Formats)."""
    axis = -1 if of_lhs else -2
    if data.dtype == np.uint8 or name in ("int8", "uint8"):  # two numbers of 4 bits in a byte
        along = axis if packed else (-2 if of_lhs else -1)
        bits = np.moveaxis(data.view(np.uint8), along, -1)
        pairs = np.stack([_E2M1[bits & 15], _E2M1[bits >> 4]], axis=-1)
        data = np.moveaxis(pairs.reshape(*bits.shape[:-1], -1), -1, along)
    values = data.astype(np.float32)
    if scale is None:
        return values
    bits = scale.data.view(np.uint8)
    factor = np.where(bits == 255, np.float32(np.nan), np.exp2(bits.astype(np.float32) - 127))
    factor = np.repeat(factor, values.shape[axis] // factor.shape[-1], axis=-1)
    return values * (factor if of_lhs else np.swapaxes(factor, -1, -2))
