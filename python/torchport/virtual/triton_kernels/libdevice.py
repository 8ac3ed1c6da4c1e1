"""libdevice's functions (NVIDIA's libdevice User's Guide), by the names that Triton calls them with."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from torchport.virtual.triton_kernels import errors, special

Array = Any
Function = Callable[..., Array]


def _torch(name: str) -> Function:
    return functools.partial(special.by_torch, name)


def _wide(function: Function) -> Function:
    """The function computed in float64, so that float32's result is the nearest one."""

    @functools.wraps(function)
    def computed(*values: Array) -> Array:
        return function(
            *(one.astype(np.float64) if one.dtype.kind == "f" else one for one in values)
        )

    return computed


def _unsigned(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


_ONES = np.array([number.bit_count() for number in range(256)], np.int32)


def _popc(values: Array) -> Array:
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(*values.shape, values.itemsize)
    return _ONES[octets].sum(axis=-1, dtype=np.int32)


def _clz(values: Array) -> Array:
    bits = _unsigned(values)
    for shift in (1, 2, 4, 8, 16, 32)[: bits.dtype.itemsize.bit_length() + 2]:
        bits = bits | (bits >> bits.dtype.type(shift))
    return 8 * bits.dtype.itemsize - _popc(bits)


def _ffs(values: Array) -> Array:
    bits = _unsigned(values)
    lowest = bits & (~bits + bits.dtype.type(1))
    return np.where(bits == 0, 0, _popc(lowest - bits.dtype.type(1)) + 1)


def _brev(values: Array) -> Array:
    bits = np.ascontiguousarray(values).view(np.uint8).reshape(*values.shape, values.itemsize)
    turned = np.packbits(np.unpackbits(bits, axis=-1)[..., ::-1], axis=-1)
    return turned.reshape(*values.shape, -1).view(values.dtype).reshape(values.shape)


def _byte_perm(x: Array, y: Array, selector: Array) -> Array:
    both = _unsigned(x).astype(np.uint64) | (_unsigned(y).astype(np.uint64) << np.uint64(32))
    select = _unsigned(selector).astype(np.uint64)
    result = np.zeros_like(both)
    for byte in range(4):
        which = (select >> np.uint64(4 * byte)) & np.uint64(7)
        result |= ((both >> (which * np.uint64(8))) & np.uint64(255)) << np.uint64(8 * byte)
    return result.astype(np.uint32).view(np.int32)


def _mulhi(a: Array, b: Array) -> Array:
    if a.dtype.itemsize == 8:
        high = np.vectorize(lambda x, y: (int(x) * int(y)) >> 64, otypes=[a.dtype])
        return high(a, b)
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    return ((a.astype(wide) * b.astype(wide)) >> wide(32)).astype(a.dtype)


def _mul24(a: Array, b: Array) -> Array:
    if a.dtype.kind == "u":
        return (a & 0xFFFFFF) * (b & 0xFFFFFF)
    low = [(one.astype(np.int32) << 8) >> 8 for one in (a, b)]
    return low[0] * low[1]


def _round_half_away(values: Array) -> Array:
    return np.copysign(np.floor(np.abs(values.astype(np.float64)) + 0.5), values)


def _step(values: Array, exact: Array, mode: str) -> Array:
    """Numbers that were rounded to the nearest, moved to where the mode rounds. `exact` has more bits."""
    value = values.astype(exact.dtype)
    if mode == "rn":
        return values
    down = (value > exact) & ((mode == "rd") | ((mode == "rz") & (exact > 0)))
    up = (value < exact) & ((mode == "ru") | ((mode == "rz") & (exact < 0)))
    low = np.nextafter(values, values.dtype.type(-np.inf))
    high = np.nextafter(values, values.dtype.type(np.inf))
    return np.where(down, low, np.where(up, high, values))


def _rounding(function: Function, mode: str) -> Function:
    """A function of float32 or float64 whose result is rounded by the mode. What is wider than float64
    decides for float64."""

    def computed(*values: Array) -> Array:
        kind = values[0].dtype
        wide = np.float64 if kind == np.float32 else np.longdouble
        exact = function(*(one.astype(wide) for one in values))
        return _step(exact.astype(kind), exact, mode)

    return computed


_TO_WHOLE: dict[str, Function] = {
    "rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil,
}  # fmt: skip
_KINDS = {
    "int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64, "float": np.float32,
    "double": np.float64,
}  # fmt: skip


def _convert(target: str, mode: str) -> Function:
    """A conversion as cvt makes it: integers saturate, and NaN becomes 0 (for 64 bits the top bit)."""
    kind: Any = np.dtype(_KINDS[target])

    def to_integer(values: Array) -> Array:
        whole = _TO_WHOLE[mode](values.astype(np.float64))
        limits = np.iinfo(kind)
        top = whole >= float(limits.max)
        inside = np.where(top | np.isnan(whole), 0, np.maximum(whole, float(limits.min)))
        result = np.where(top, limits.max, inside.astype(kind))
        if kind.itemsize == 8:
            result = np.where(np.isnan(whole), np.int64(-(2**63)).astype(kind), result)
        return result.astype(kind)

    def to_number(values: Array) -> Array:
        near = values.astype(kind)
        return _step(near, values.astype(np.longdouble), mode)

    return to_integer if kind.kind in "iu" else to_number


def _erfcinv(values: Array) -> Array:
    return special.by_torch("erfinv", 1 - values)


def _normcdfinv(values: Array) -> Array:
    return special.by_torch("ndtri", values)


def _gamma(values: Array) -> Array:
    import math

    def one(x: float) -> float:
        try:
            return math.gamma(x)
        except OverflowError:
            return float("inf")
        except ValueError:
            return float("nan") if x != 0 else float(np.copysign(np.inf, x))

    return np.vectorize(one, otypes=[values.dtype])(values)


def _bessel_of_order(first: str, second: str) -> Function:
    """The Bessel function of order n, by the recurrence from orders 0 and 1; Miller's for J."""

    def computed(order: Array, values: Array) -> Array:
        def one(n: int, x: float) -> float:
            at = np.array([x])
            if n == 0:
                return float(special.by_torch(first, at)[0])
            if n == 1:
                return float(special.by_torch(second, at)[0])
            if first == "bessel_j0" and abs(x) < n:
                top = 2 * ((n + int((40 * n) ** 0.5) + 20) // 2)
                after, now, total, found = 0.0, 1e-30, 0.0, 0.0
                for k in range(top, 0, -1):
                    after, now = now, (2 * k / x * now - after) if x else 0.0
                    if abs(now) > 1e100:
                        after, now, total, found = (v * 1e-100 for v in (after, now, total, found))
                    if (k - 1) % 2 == 0:
                        total += now
                    if k - 1 == n:
                        found = now
                return found / (2 * total - now) if x else 0.0
            before = float(special.by_torch(first, at)[0])
            now = float(special.by_torch(second, at)[0])
            for k in range(1, n):
                before, now = now, 2 * k / x * now - before
            return now

        return np.vectorize(one, otypes=[np.float64])(order, values)

    return computed


def _norm(*values: Array) -> Array:
    return np.sqrt(sum(one * one for one in values))


# By the name in libdevice, without __nv_ and without the f of float32.
_FUNCTIONS: dict[str, Function] = {
    "clz": _clz, "popc": _popc, "ffs": _ffs, "brev": _brev, "byte_perm": _byte_perm,
    "mulhi": _mulhi, "umulhi": _mulhi, "mul64hi": _mulhi, "umul64hi": _mulhi,
    "mul24": _mul24, "umul24": _mul24,
    "sad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
    "usad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
    "hadd": lambda x, y: (x.astype(np.int64) + y) >> 1,
    "uhadd": lambda x, y: (x.astype(np.int64) + y) >> 1,
    "rhadd": lambda x, y: (x.astype(np.int64) + y + 1) >> 1,
    "urhadd": lambda x, y: (x.astype(np.int64) + y + 1) >> 1,
    "abs": np.abs, "fabs": np.abs, "llabs": np.abs, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint, "round": _round_half_away,
    "llrint": np.rint, "llround": _round_half_away, "saturate": lambda x: np.fmin(np.fmax(x, 0), 1),
    "rcp64h": lambda x: 1 / x, "sqrt": _wide(np.sqrt), "rsqrt": _wide(lambda x: 1 / np.sqrt(x)),
    "cbrt": _wide(np.cbrt), "rcbrt": _wide(lambda x: 1 / np.cbrt(x)),
    "exp": _wide(np.exp), "exp2": _wide(np.exp2), "exp10": _wide(lambda x: np.power(10.0, x)),
    "expm1": _wide(np.expm1), "log": _wide(np.log), "log2": _wide(np.log2),
    "log10": _wide(np.log10), "log1p": _wide(np.log1p),
    "sin": _wide(np.sin), "cos": _wide(np.cos), "tan": _wide(np.tan), "asin": _wide(np.arcsin),
    "acos": _wide(np.arccos), "atan": _wide(np.arctan), "atan2": _wide(np.arctan2),
    "sinh": _wide(np.sinh), "cosh": _wide(np.cosh), "tanh": _wide(np.tanh),
    "asinh": _wide(np.arcsinh), "acosh": _wide(np.arccosh), "atanh": _wide(np.arctanh),
    "sinpi": _wide(lambda x: np.sin(np.pi * np.fmod(x, 2))),
    "cospi": _wide(lambda x: np.cos(np.pi * np.fmod(x, 2))),
    "fast_sin": _wide(np.sin), "fast_cos": _wide(np.cos), "fast_tan": _wide(np.tan),
    "fast_exp": _wide(np.exp), "fast_exp10": _wide(lambda x: np.power(10.0, x)),
    "fast_log": _wide(np.log), "fast_log2": _wide(np.log2), "fast_log10": _wide(np.log10),
    "fast_pow": _wide(np.power), "fast_tanh": _wide(np.tanh), "fast_fdivide": np.divide,
    "pow": _wide(np.power), "powi": _wide(np.power), "hypot": _wide(np.hypot),
    "rhypot": _wide(lambda x, y: 1 / np.hypot(x, y)), "norm3d": _wide(_norm),
    "norm4d": _wide(_norm), "rnorm3d": _wide(lambda *x: 1 / _norm(*x)),
    "rnorm4d": _wide(lambda *x: 1 / _norm(*x)),
    "fmod": np.fmod, "remainder": lambda x, y: x - y * np.rint(x.astype(np.float64) / y),
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.fmax(x - y, 0)),
    "fma": _rounding(lambda x, y, z: x * y + z, "rn"), "copysign": np.copysign,
    "nextafter": np.nextafter, "ldexp": np.ldexp, "scalbn": np.ldexp,
    "logb": lambda x: np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.frexp(x)[1] - 1)),
    "ilogb": lambda x: np.where(
        (x == 0) | np.isnan(x), -(2**31), np.where(np.isinf(x), 2**31 - 1, np.frexp(x)[1] - 1)
    ),
    "isnan": np.isnan, "isinf": np.isinf, "finite": np.isfinite, "isfinite": np.isfinite,
    "signbit": np.signbit,
    "erf": _torch("erf"), "erfc": _torch("erfc"), "erfinv": _torch("erfinv"),
    "erfcx": _torch("erfcx"), "erfcinv": _wide(_erfcinv), "normcdf": _torch("ndtr"),
    "normcdfinv": _wide(_normcdfinv), "lgamma": _torch("lgamma"), "tgamma": _gamma,
    "j0": _torch("bessel_j0"), "j1": _torch("bessel_j1"), "y0": _torch("bessel_y0"),
    "y1": _torch("bessel_y1"), "jn": _bessel_of_order("bessel_j0", "bessel_j1"),
    "yn": _bessel_of_order("bessel_y0", "bessel_y1"), "cyl_bessel_i0": _torch("i0"),
    "cyl_bessel_i1": _torch("i1"),
    "hiloint2double": lambda high, low: (
        (_unsigned(high).astype(np.uint64) << np.uint64(32)) | _unsigned(low)
    ).view(np.float64),
    "double2loint": lambda x: _unsigned(x).astype(np.uint32).view(np.int32),
    "double2hiint": lambda x: (_unsigned(x) >> np.uint64(32)).astype(np.uint32).view(np.int32),
    "int_as_float": lambda x: x.view(np.float32), "uint_as_float": lambda x: x.view(np.float32),
    "float_as_int": lambda x: x.view(np.int32), "float_as_uint": lambda x: x.view(np.uint32),
    "longlong_as_double": lambda x: x.view(np.float64),
    "double_as_longlong": lambda x: x.view(np.int64),
}  # fmt: skip

_ARITHMETIC: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x), "fma": lambda x, y, z: x * y + z,
}  # fmt: skip


@functools.cache
def _function(symbol: str) -> Function | None:
    name = symbol.removeprefix("__nv_")
    if found := re.fullmatch(
        r"(int|uint|ll|ull|float|double)2(int|uint|ll|ull|float|double)_(r[nzdu])", name
    ):
        return _convert(found[2], found[3])
    if found := re.fullmatch(
        r"[fd](add|sub|mul|div|sqrt|rcp|rsqrt)_(r[nzdu])|(fma)f?_(r[nzdu])", name
    ):
        return _rounding(_ARITHMETIC[found[1] or found[3]], found[2] or found[4])
    for part in ("", "ll", "f", "d"):  # of the other types
        shorter = name.removesuffix(part) if part else name
        if shorter in _FUNCTIONS:
            return _FUNCTIONS[shorter]
    return _FUNCTIONS.get(name.removesuffix("f").removesuffix("d").removeprefix("is") or name)


def call(symbol: str, values: list[Array], dtype: Any) -> Array:
    """The result of a function of libdevice, in this type of NumPy.

    Raises KernelNotSupported for another library's function.
    """
    function = _function(symbol) if symbol.startswith("__nv_") else None
    if function is None:
        errors.refuse(
            f"`{symbol}` of a library for the GPU",
            "there is no plain function in its place",
            "Give the kernel's callers a branch that uses plain PyTorch.",
        )
    shape = np.broadcast_shapes(*(one.shape for one in values))
    given = [np.ascontiguousarray(np.broadcast_to(one, shape)) for one in values]
    return np.asarray(function(*given)).astype(dtype)
