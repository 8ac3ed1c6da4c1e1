"""libdevice's functions against Python's and mpmath's, by the names that Triton calls them with."""

from __future__ import annotations

import math
import re
import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed")

pytestmark = pytest.mark.devices("cuda:1")

TYPES = {
    "int32": np.int32, "int64": np.int64, "uint32": np.uint32, "uint64": np.uint64,
    "fp32": np.float32, "fp64": np.float64,
}  # fmt: skip


def call(symbol, *values, to=None):
    from torchport.virtual.triton_kernels import libdevice

    with np.errstate(all="ignore"):
        return libdevice.call(symbol, list(values), to or values[0].dtype)


def test_every_function_of_tritons_list_is_there():
    source = Path(triton.language.extra.cuda.libdevice.__file__).read_text()
    types = r'\(((?:core\.dtype\("\w+"\),? ?)+)\): \("(__nv_\w+)", core\.dtype\("(\w+)"\)\)'
    found = re.findall(types, source)
    assert len(found) > 290
    for arguments, symbol, result in found:
        kinds = [TYPES[name] for name in re.findall(r'"(\w+)"', arguments)]
        values = [
            np.array([0.25, 0.5] if np.issubdtype(k, np.floating) else [1, 2], k) for k in kinds
        ]
        assert call(symbol, *values, to=TYPES[result]).shape == (2,), symbol


def inverse(function, low, high):
    """The inverse of an increasing function, by bisection."""

    def found(y):
        a, b = low, high
        for _ in range(200):
            middle = (a + b) / 2
            a, b = (middle, b) if function(middle) < y else (a, middle)
        return a

    return found


def normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


UNARY = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos,
    "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh,
    "asinh": math.asinh, "atanh": math.atanh, "exp": math.exp, "exp2": lambda x: 2**x,
    "exp10": lambda x: 10**x, "expm1": math.expm1, "log": math.log, "log2": math.log2,
    "log10": math.log10, "log1p": math.log1p, "sqrt": math.sqrt, "rsqrt": lambda x: x**-0.5,
    "cbrt": lambda x: x ** (1 / 3), "rcbrt": lambda x: x ** (-1 / 3), "erf": math.erf,
    "erfc": math.erfc, "erfcx": lambda x: math.exp(x * x) * math.erfc(x),
    "erfinv": inverse(math.erf, -6, 6), "erfcinv": lambda y: inverse(lambda x: -math.erfc(x), -6, 6)(-y),
    "normcdf": normal, "normcdfinv": inverse(normal, -9, 9), "lgamma": math.lgamma,
    "tgamma": math.gamma, "sinpi": lambda x: math.sin(math.pi * x),
    "cospi": lambda x: math.cos(math.pi * x), "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "fabs": abs, "logb": lambda x: math.frexp(x)[1] - 1,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    for kind, suffix, close in ((np.float32, "f", 3e-7), (np.float64, "", 1e-14)):
        x = np.linspace(0.03, 0.97, 40).astype(kind)
        want = [UNARY[name](float(value)) for value in x]
        got = call(f"__nv_{name}{'' if name == 'fabs' and suffix else suffix}", x)
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=close * 20, atol=close)


def test_bessel_functions():
    mpmath = pytest.importorskip("mpmath")
    x = np.array([0.1, 0.9, 2.5, 7.0, 12.0])
    for name, function in (("j", mpmath.besselj), ("y", mpmath.bessely)):
        for order in (0, 1, 2, 5):
            want = [float(function(order, value)) for value in x]
            got = call(f"__nv_{name}n", np.full(5, order, np.int32), x, to=np.float64)
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=5e-8)
            if order < 2:
                np.testing.assert_allclose(
                    call(f"__nv_{name}{order}", x), want, rtol=1e-8, atol=5e-8
                )
    want = [float(mpmath.besseli(0, value)) for value in x]
    np.testing.assert_allclose(call("__nv_cyl_bessel_i0", x), want, rtol=1e-9)


def neighbours(exact: Fraction) -> tuple[float, float]:
    """The numbers of float32 just below and above."""
    near = np.float32(float(exact))
    if Fraction(float(near)) > exact:
        return float(np.nextafter(near, np.float32(-np.inf))), float(near)
    if Fraction(float(near)) < exact:
        return float(near), float(np.nextafter(near, np.float32(np.inf)))
    return float(near), float(near)


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
def test_rounding_modes(mode):
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal(200).astype(np.float32) for _ in range(2))
    for name, function in {
        "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "sub": lambda x, y: x - y,
    }.items():  # fmt: skip
        got = call(f"__nv_f{name}_{mode}", a, b)
        for x, y, result in zip(a, b, got, strict=True):
            exact = function(Fraction(float(x)), Fraction(float(y)))
            low, high = neighbours(exact)
            below, above = exact - Fraction(low), Fraction(high) - exact
            even = min(low, high, key=lambda one: np.float32(one).view(np.int32) & 1)
            nearest = even if below == above else low if below < above else high
            to_zero = low if exact > 0 else high
            assert float(result) == {"rd": low, "ru": high, "rz": to_zero, "rn": nearest}[mode]


def test_conversions():
    x = np.array([2.5, -2.5, 3.5, 1e20, -1e20, np.nan], np.float32)
    top, bottom = 2**31 - 1, -(2**31)
    for mode, first in {
        "rn": [2, -2, 4],
        "rz": [2, -2, 3],
        "rd": [2, -3, 3],
        "ru": [3, -2, 4],
    }.items():
        got = call(f"__nv_float2int_{mode}", x, to=np.int32)
        assert got.tolist() == [*first, top, bottom, 0]
    assert call("__nv_float2uint_rz", x, to=np.uint32).tolist() == [2, 0, 3, 2**32 - 1, 0, 0]
    large = np.array([2**24 + 1, -(2**24) - 1], np.int32)
    up = {"rn": [2**24, -(2**24)], "ru": [2**24 + 2, -(2**24)], "rd": [2**24, -(2**24) - 2]}
    for mode, want in up.items():
        assert call(f"__nv_int2float_{mode}", large, to=np.float32).tolist() == want
    bits = struct.unpack("<ii", struct.pack("<d", 1.5))
    number = call(
        "__nv_hiloint2double", *(np.array([v], np.int32) for v in reversed(bits)), to=np.float64
    )
    assert number.tolist() == [1.5]


def test_bits_of_integers():
    values = [0, 1, -1, 0x12345678, -(2**31)]
    x = np.array(values, np.int32)
    bits = [value & 0xFFFFFFFF for value in values]
    assert call("__nv_popc", x).tolist() == [bin(b).count("1") for b in bits]
    assert call("__nv_clz", x).tolist() == [32 - b.bit_length() for b in bits]
    assert call("__nv_ffs", x).tolist() == [(b & -b).bit_length() for b in bits]
    turned = [int(f"{b:032b}"[::-1], 2) for b in bits]
    assert call("__nv_brev", x).view(np.uint32).tolist() == turned
    y = np.full(5, 0x7EDCBA98, np.int32)
    high = [(value * 0x7EDCBA98) >> 32 for value in values]
    assert call("__nv_mulhi", x, y).tolist() == high
    picked = call("__nv_byte_perm", x[3:4], y[:1], np.array([0x7210], np.int32))
    assert picked.view(np.uint32).tolist() == [0x7E345678]
    long = np.array([2**40 + 1, -1], np.int64)
    assert call("__nv_clzll", long, to=np.int32).tolist() == [23, 0]
    assert call("__nv_popcll", long, to=np.int32).tolist() == [2, 64]
