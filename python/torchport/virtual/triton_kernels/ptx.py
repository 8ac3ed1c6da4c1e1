"""Inline PTX in kernels: instructions that compute one result from registers, for all elements at once.

A register is an array of unsigned integers of its width, one for each group of elements that the assembly
gets. What is written here is from the PTX ISA ("Instruction Set"). An instruction that is not known raises
`Unknown`: barriers, cp.async, mma and whatever else needs the threads of a GPU.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from torchport.virtual.triton_kernels import formats

Array = Any


class Unknown(Exception):
    """args: the instruction."""


_WIDTHS = {"b": 8, "h": 16, "r": 32, "l": 64, "f": 32, "d": 64}  # by the letter of a constraint
_FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
_PACKED = {"e4m3x2": "fp8e4nv", "e5m2x2": "fp8e5"}


def width_of(letter: str) -> int:
    """The bits of a register with this constraint. Raises Unknown."""
    if letter not in _WIDTHS:
        raise Unknown(f"constraint {letter}")
    return _WIDTHS[letter]


def _bits(kind: str) -> int:
    if kind in _PACKED:
        return 16
    if kind.endswith("x2"):
        return 32
    digits = kind.lstrip("busfp") if kind != "pred" else "1"
    if not digits.isdigit():
        raise Unknown(f"type {kind}")
    return int(digits)


def _numbers(bits: Array, kind: str) -> Array:
    """The numbers of registers of this type; x2 types get a last axis of two, the lower half first."""
    if kind == "pred":
        return bits.astype(bool)
    size = _bits(kind)
    bits = bits.astype(f"u{size // 8}")
    if kind in _PACKED:
        return formats.decode(bits[..., None].view(np.uint8), _PACKED[kind])
    if kind.endswith("x2"):
        return _numbers(bits[..., None].view(np.uint16), kind[:-2])
    if kind == "bf16":
        return formats.decode(bits, "bf16")
    if kind in _FLOATS:
        return bits.view(_FLOATS[kind])
    return bits.view(f"i{size // 8}") if kind[0] == "s" else bits


def _stored(numbers: Array, kind: str, to_zero: bool = False) -> Array:
    """The registers of numbers."""
    if kind == "pred":
        return numbers.astype(np.uint8)
    if kind in _PACKED:
        return formats.encode(numbers, _PACKED[kind], to_zero).view(np.uint16)[..., 0]
    if kind.endswith("x2"):
        halves = np.ascontiguousarray(_stored(numbers, kind[:-2], to_zero))
        return halves.view(np.uint32)[..., 0]
    if kind == "bf16":
        return formats.encode(numbers, "bf16", to_zero)
    size = _bits(kind) // 8
    if kind in _FLOATS:
        return np.ascontiguousarray(numbers.astype(_FLOATS[kind])).view(f"u{size}")
    return numbers.astype(f"{'i' if kind[0] == 's' else 'u'}{size}").view(f"u{size}")


def _saturated(numbers: Array, kind: str) -> Array:
    limits = np.iinfo(f"{'i' if kind[0] == 's' else 'u'}{_bits(kind) // 8}")
    exact = np.where(np.isnan(numbers), 0, numbers).astype(np.float64)
    top = exact >= float(limits.max)
    inside = np.where(top, 0, np.maximum(exact, float(limits.min)))
    return np.where(top, limits.max, inside.astype(limits.dtype))


def _prmt(a: Array, b: Array, selector: Array) -> Array:
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    select, result = selector.astype(np.uint64), np.zeros(a.shape, np.uint64)
    for byte in range(4):
        nibble = (select >> np.uint64(4 * byte)) & np.uint64(15)
        one = (both >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = np.where(one & np.uint64(128), np.uint64(255), np.uint64(0))
        result |= np.where(nibble & np.uint64(8), sign, one) << np.uint64(8 * byte)
    return result.astype(np.uint32)


def _lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    result = np.zeros_like(a)
    for row in range(8):
        if int(table.flat[0]) >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


def _shift(a: Array, by: Array, left: bool, is_signed: bool) -> Array:
    """A shift by more than the width gives zeros, or the sign."""
    size = a.dtype.itemsize * 8
    clamped = np.minimum(by.astype(np.uint64), size - 1).astype(a.dtype)
    shifted = np.left_shift(a, clamped) if left else np.right_shift(a, clamped)
    return shifted if is_signed and not left else np.where(by >= size, a.dtype.type(0), shifted)


def _funnel(low: Array, high: Array, by: Array, left: bool, wraps: bool) -> Array:
    by = by & np.uint32(31) if wraps else np.minimum(by, np.uint32(32))
    both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
    shift = by.astype(np.uint64)
    return ((both << shift) >> np.uint64(32) if left else both >> shift).astype(np.uint32)


def _field(a: Array, start: Array, length: Array, is_signed: bool) -> Array:
    """bfe: a field of bits."""
    start, length = (np.minimum(one & 255, 64).astype(np.uint64) for one in (start, length))
    wide = a.astype(np.int64).view(np.uint64) if is_signed else a.astype(np.uint64)
    mask = np.where(length >= 64, ~np.uint64(0), (np.uint64(1) << length) - np.uint64(1))
    field = (wide >> np.minimum(start, 63).astype(np.uint64)) & mask
    if is_signed:
        top = np.uint64(1) << np.maximum(length, 1) - np.uint64(1)
        field = (field ^ top) - top
    return np.where(length == 0, 0, field.view(np.int64) if is_signed else field)


def _insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """bfi: `a` in a field of `b`."""
    start, length = (np.minimum(one & 255, 63).astype(np.uint64) for one in (start, length))
    mask = ((np.uint64(1) << length) - np.uint64(1)) << start
    return (b.astype(np.uint64) & ~mask) | ((a.astype(np.uint64) << start) & mask)


def _count(bits: Array) -> Array:
    octets = np.ascontiguousarray(bits)[..., None].view(np.uint8)
    return np.unpackbits(octets, axis=-1).sum(axis=-1)


def _leading(bits: Array) -> Array:
    octets = np.ascontiguousarray(bits.astype(bits.dtype.newbyteorder(">")))[..., None].view(
        np.uint8
    )
    ones = np.unpackbits(octets, axis=-1)
    return np.where(bits == 0, ones.shape[-1], ones.argmax(axis=-1))


_OF_FLOATS: dict[str, Callable[..., Array]] = {
    "tanh": np.tanh, "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos,
    "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "abs": np.abs,
    "neg": np.negative, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "min": np.fmin, "max": np.fmax, "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
_OF_INTEGERS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul.lo": np.multiply, "min": np.minimum,
    "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.invert, "abs": np.abs, "neg": np.negative, "mad.lo": lambda x, y, z: x * y + z,
    "prmt": _prmt, "lop3": _lop3, "bfi": _insert, "popc": _count, "clz": _leading,
}  # fmt: skip
_COMPARED: dict[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip
_MODIFIERS = {"approx", "full", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", "ftz",
              "sat", "satfinite", "relu", "NaN", "xorsign", "global", "nc", "relaxed", "weak",
              "volatile", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "b4e"}  # fmt: skip
_TO_WHOLE: dict[str, Callable[..., Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


class Machine:
    """Executes assembly. `registers` are the operands $0, $1, ..., outputs first, with their widths."""

    def __init__(
        self, operands: list[Array], memory: Any, special: Callable[[str], int | None], count: int
    ) -> None:
        self._held: dict[str, Array] = {f"${i}": one for i, one in enumerate(operands)}
        self._memory = memory  # load(addresses, size) and store(addresses, values)
        self._special = special
        self._count = count

    def result(self, index: int) -> Array:
        return self._held[f"${index}"]

    def run(self, asm: str) -> None:
        """Raises Unknown for an instruction that is not known."""
        plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", asm, flags=re.DOTALL)
        for text in plain.split(";"):
            line = " ".join(text.split())
            # The braces of a block, not those of a vector.
            while line.startswith("{") and not re.match(r"\{[^}]*\}\s*,", line):
                line = line[1:].strip()
            if line.count("}") > line.count("{"):
                line = (
                    line[line.index("}") + 1 :].strip()
                    if line.startswith("}")
                    else line.rstrip("} ")
                )
            if line and not line.startswith(".reg"):
                self._step(line)

    def _step(self, line: str) -> None:
        found = re.fullmatch(r"(?:@(!?)([\w$%]+) )?([a-z][\w.:]*)(?: (.*))?", line)
        if found is None or found[4] is None:
            raise Unknown(line)
        guard = None
        if found[2]:
            guard = self._held[found[2]].astype(bool)
            guard = ~guard if found[1] else guard
        name, *parts = found[3].split(".")
        operands = [one.strip() for one in re.split(r",(?![^{\[]*[}\]])", found[4])]
        try:
            self._execute(line, name, parts, operands, guard)
        except KeyError as error:
            raise Unknown(line) from error

    def _execute(
        self, line: str, name: str, parts: list[str], operands: list[str], guard: Array | None
    ) -> None:
        if not parts:
            raise Unknown(line)
        kind = parts[-1]
        target, *sources = operands
        if name == "mov":
            self._move(target, sources[0], kind, guard)
        elif name in ("ld", "st") and "global" in parts and "{" not in line:
            if set(parts[:-1]) - _MODIFIERS:
                raise Unknown(line)
            self._access(name, operands, kind, guard)
        elif name == "cvt":
            self._convert(line, parts, target, sources, guard)
        elif name == "setp":
            compared = _COMPARED[parts[0]](*(self._value(one, kind) for one in sources[:2]))
            for place, value in zip(target.split("|"), (compared, ~compared), strict=False):
                self._set(place, np.asarray(value), "pred", guard)
        elif name == "selp":
            chosen = self._raw(sources[2], 8).astype(bool)
            first, second = (self._raw(one, _bits(kind)) for one in sources[:2])
            self._put(target, np.where(chosen, first, second), guard)
        else:
            middle = [part for part in parts[:-1] if part not in _MODIFIERS]
            values = [
                self._value(one, self._kind_of(name, i, kind)) for i, one in enumerate(sources)
            ]
            result = self._computed(line, name, middle, kind, values)
            if "sat" in parts[:-1] and "f" in kind:
                result = np.fmin(np.fmax(np.nan_to_num(result, nan=0.0), 0), 1)
            if "relu" in parts:
                result = np.fmax(result, 0)
            if middle == ["wide"]:
                kind = f"{kind[0]}{2 * _bits(kind)}"
            if name in ("popc", "clz"):
                kind = "u32"
            self._set(target, result, kind, guard)

    @staticmethod
    def _kind_of(name: str, index: int, kind: str) -> str:
        """The type of an operand: the amount of a shift, and of a field, is a number of 32 bits."""
        amounts = {"shl": (1,), "shr": (1,), "bfe": (1, 2), "bfi": (2, 3), "shf": (2,)}
        return "u32" if index in amounts.get(name, ()) else kind

    def _computed(
        self, line: str, name: str, middle: list[str], kind: str, values: list[Array]
    ) -> Array:
        is_float = "f" in kind
        full = ".".join([name, *middle])
        if is_float:
            wide = [one.astype(np.float64) if one.dtype.itemsize <= 4 else one for one in values]
            return _OF_FLOATS[full](*wide)
        if name in ("shl", "shr") and not middle:
            return _shift(values[0], values[1], name == "shl", kind[0] == "s")
        if name == "shf" and len(middle) == 2:
            return _funnel(values[0], values[1], values[2], middle[0] == "l", middle[1] == "wrap")
        if name == "bfe":
            return _field(values[0], values[1], values[2], kind[0] == "s")
        if full in ("mul.hi", "mul.wide", "mad.wide", "mad.hi") and _bits(kind) <= 32:
            size = _bits(kind) // 8
            wide = [one.astype(f"{values[0].dtype.kind}{2 * size}") for one in values]
            product = wide[0] * wide[1]
            if full.endswith("hi"):
                product = (product >> (8 * size)).astype(values[0].dtype)
                wide = values
            return product + wide[2] if name == "mad" else product
        if full not in _OF_INTEGERS:
            raise Unknown(line)
        return _OF_INTEGERS[full](*values)

    # Registers.
    def _raw(self, operand: str, bits: int) -> Array:
        """The bits of an operand, in unsigned integers of this width."""
        kind: Any = np.dtype(f"u{max(bits, 8) // 8}")
        number = self._immediate(operand)
        if number is not None:
            return np.full(self._count, number & (2 ** (8 * kind.itemsize) - 1), kind)
        if operand.startswith("{"):
            parts = [one.strip() for one in operand.strip("{} ").split(",")]
            each = bits // len(parts)
            pieces = [self._raw(one, each).astype(kind) for one in parts]
            shifted = [one << kind.type(each * i) for i, one in enumerate(pieces)]
            return functools.reduce(np.bitwise_or, shifted)
        special = self._special(operand) if operand.startswith("%") else None
        if special is not None:
            return np.full(self._count, special & (2 ** (8 * kind.itemsize) - 1), kind)
        return self._held[operand].astype(kind)

    @staticmethod
    def _immediate(text: str) -> int | None:
        if found := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", text):
            return int(found[1] or found[2], 16)
        text = text.rstrip("U")
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", text):
            return int(text, 0)
        return None

    def _value(self, operand: str, kind: str) -> Array:
        return _numbers(self._raw(operand, _bits(kind)), kind)

    def _set(self, target: str, numbers: Array, kind: str, guard: Array | None) -> None:
        self._put(target, _stored(np.asarray(numbers), kind), guard)

    def _put(self, target: str, bits: Array, guard: Array | None) -> None:
        if target == "_":
            return
        held = self._held.get(target)
        if held is not None and target.startswith("$"):
            bits = bits.astype(held.dtype)
        if guard is not None and held is not None:
            bits = np.where(guard, bits.astype(held.dtype), held)
        self._held[target] = bits

    def _move(self, target: str, source: str, kind: str, guard: Array | None) -> None:
        bits = self._raw(source, _bits(kind))
        if not target.startswith("{"):
            self._put(target, bits, guard)
            return
        places = [one.strip() for one in target.strip("{} ").split(",")]
        pieces = bits[..., None].view(f"u{bits.dtype.itemsize // len(places)}")
        for i, place in enumerate(places):
            self._put(place, pieces[..., i].copy(), guard)

    def _access(self, name: str, operands: list[str], kind: str, guard: Array | None) -> None:
        place = operands[0 if name == "st" else 1].strip("[] ")
        base, _, offset = place.partition("+")
        address = self._raw(base.strip(), 64) + np.uint64(int(offset or "0", 0))
        active = np.ones(self._count, bool) if guard is None else guard
        if name == "st":
            self._memory.store(address, self._raw(operands[1], _bits(kind)), active)
            return
        loaded = self._memory.load(address, f"u{_bits(kind) // 8}", active)
        if kind[0] == "s":
            loaded = loaded.view(f"i{loaded.dtype.itemsize}").astype(np.int64).view(np.uint64)
        self._put(operands[0], loaded, guard)

    def _convert(
        self, line: str, parts: list[str], target: str, sources: list[str], guard: Array | None
    ) -> None:
        types = [part for part in parts if part not in _MODIFIERS]
        if len(types) != 2:
            raise Unknown(line)
        to, source = types
        if len(sources) == 2:  # two numbers of 32 bits to halves; the first is the upper one
            high, low = (self._value(one, source) for one in sources)
            values = np.stack([low, high], axis=-1)
        else:
            values = self._value(sources[0], source)
        if "relu" in parts:
            values = np.fmax(values, 0)
        of_float = "f" in source or source in _PACKED
        if to[0] in "us" and to not in _PACKED and of_float:
            for part in parts:
                values = _TO_WHOLE[part](values) if part in _TO_WHOLE else values
            values = _saturated(values, to)
        elif "sat" in parts:
            if "f" in to:
                values = np.fmin(np.fmax(values, 0), 1)
            else:
                values = _saturated(values.astype(np.float64), to)
        self._put(target, _stored(values, to, "rz" in parts), guard)
