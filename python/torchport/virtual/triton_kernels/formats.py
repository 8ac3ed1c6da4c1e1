"""Floating-point formats that NumPy lacks: bfloat16 and those of 8 bits, as Triton stores them, in
arrays of unsigned integers."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

Array = Any


class _Format(NamedTuple):
    mantissa: int  # bits
    bias: int
    infinity: bool  # an exponent of ones is infinity or NaN, as IEEE has it
    nan: tuple[int, ...]  # other codes that are NaN
    saturates: bool  # a number that is too large becomes the largest finite one


# By Triton's name. cvt.rn.satfinite (PTX ISA, "cvt") saturates.
_FORMATS = {
    "fp8e5": _Format(2, 15, True, (), True),
    "fp8e4nv": _Format(3, 7, False, (0x7F, 0xFF), True),
    "fp8e4b8": _Format(3, 8, False, (0x80,), True),
    "fp8e5b16": _Format(2, 16, False, (0x80,), True),
    "fp8e4b15": _Format(3, 15, False, (), True),
}


def is_stored_as_integers(name: str) -> bool:
    """Whether an array of this type of Triton holds the bits of its numbers, not numbers."""
    return name == "bf16" or name in _FORMATS


@functools.cache
def _values(name: str) -> Array:
    """The numbers of the 256 codes, in float32."""
    form = _FORMATS[name]
    codes = np.arange(256)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    exponent = (codes & 0x7F) >> form.mantissa
    fraction = (codes & ((1 << form.mantissa) - 1)) / (1 << form.mantissa)
    normal = (1 + fraction) * np.exp2(exponent.astype(np.float64) - form.bias)
    values = sign * np.where(exponent > 0, normal, fraction * np.exp2(1.0 - form.bias))
    if form.infinity:
        ones = exponent == exponent.max()
        values[ones & (fraction == 0)] = np.inf * sign[ones & (fraction == 0)]
        values[ones & (fraction != 0)] = np.nan
    values[list(form.nan)] = np.nan
    return values.astype(np.float32)


@functools.cache
def _positive(name: str) -> tuple[Array, Array, int]:
    """The finite numbers from zero up, the middles between them, and a code of NaN (of the largest
    number where there is none)."""
    values = _values(name)[:128].astype(np.float64)
    finite = values[np.isfinite(values)]
    nans = np.flatnonzero(np.isnan(_values(name)))
    return finite, (finite[:-1] + finite[1:]) / 2, int(nans[0]) if nans.size else 0x7F


def decode(bits: Array, name: str) -> Array:
    """The numbers, in float32."""
    if name == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return _values(name)[bits.view(np.uint8)]


def encode(numbers: Array, name: str, to_zero: bool = False) -> Array:
    """The bits of numbers: the nearest, even ones at a tie, or those towards zero."""
    if name == "bf16":
        return _as_bfloat16(numbers, to_zero)
    finite, middles, nan = _positive(name)
    size = np.abs(numbers.astype(np.float64))
    if to_zero:
        code = np.searchsorted(finite, size, side="right") - 1
    else:
        code = np.searchsorted(middles, size, side="left")
        tie = (code < middles.size) & (size == middles[np.minimum(code, middles.size - 1)])
        code = code + (tie & (code % 2 == 1))
    code = np.minimum(code, finite.size - 1)
    code = np.where(np.signbit(numbers), code | 0x80, code)
    if 0x80 in _FORMATS[name].nan:
        code = np.where(code == 0x80, 0, code)  # there is no negative zero
    return np.where(np.isnan(numbers), nan, code).astype(np.uint8)


def _as_bfloat16(numbers: Array, to_zero: bool) -> Array:
    single = np.ascontiguousarray(numbers, dtype=np.float32)
    bits = single.view(np.uint32)
    if not to_zero:
        bits = bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))
    return np.where(np.isnan(single), 0x7FFF, bits >> 16).astype(np.uint16)


def rounded_to_tf32(numbers: Array) -> Array:
    """float32 with the 10 bits of mantissa that TF32 has, rounded to the nearest, ties away from zero
    (PTX ISA, "cvt.rna.tf32.f32")."""
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(numbers), rounded, numbers)
