"""Finds the operand that an instruction tests or formats.

In `if x.sum() > 0 and y is not None`, each operand has a jump of its own. Until Python 3.12 the
compiler gives such a jump the position of the whole statement or of another operand, and of what
is formatted in an f-string it gives the whole string. The instruction before the jump computed the
value that the jump reads, and has the right position.
"""

from __future__ import annotations

import ctypes
import dis
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from torchport._native.observing import SourceLocation

# These do not compute a value; they stand between the value and what reads it.
_BETWEEN = frozenset(["CACHE", "COPY", "NOP", "EXTENDED_ARG", "TO_BOOL", "NOT_TAKEN", "RESUME"])
_FORMATS = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
_HAS_SPEC = 0x04  # a flag of FORMAT_VALUE


class Span(NamedTuple):
    """A part of the source; columns are in bytes of UTF-8."""

    line: int
    end_line: int
    column: int
    end_column: int


class _Instruction(NamedTuple):
    name: str
    argument: int
    offset: int
    is_target: bool
    span: Span | None


@lru_cache(maxsize=64)
def _instructions(code: CodeType) -> list[_Instruction]:
    found = []
    for one in dis.get_instructions(code):
        at: Any = getattr(one, "positions", None) or (None,)  # Python 3.11 and later
        span = None if None in at else Span(at[0], at[1], at[2], at[3])
        found.append(_Instruction(one.opname, one.arg or 0, one.offset, one.is_jump_target, span))
    return found


def _tests(instruction: _Instruction) -> bool:
    name = instruction.name
    return name in ("TO_BOOL", "UNARY_NOT") or ("JUMP" in name and "_IF_" in name)


def _has_spec(instruction: _Instruction) -> bool:
    return instruction.name == "FORMAT_WITH_SPEC" or (
        instruction.name == "FORMAT_VALUE" and bool(instruction.argument & _HAS_SPEC)
    )


def operand_in(code: CodeType, offset: int) -> Span | None:
    """The operand that the instruction at ``offset`` tests or formats. None if the instruction does
    neither, or if the value may come from several places, as in `(a if c else b) and d`."""
    instructions = _instructions(code)
    at = max((i for i, one in enumerate(instructions) if one.offset <= offset), default=-1)
    while at > 0 and instructions[at].name == "CACHE":
        at -= 1
    if at < 0 or not (_tests(instructions[at]) or instructions[at].name in _FORMATS):
        return None
    spec = _has_spec(instructions[at])
    while at > 0:
        if instructions[at].is_target:
            return None
        at -= 1
        if instructions[at].name in _BETWEEN:
            continue
        if not spec:
            return instructions[at].span
        if instructions[at].name != "LOAD_CONST":
            return None  # the spec is an expression of its own
        spec = False
    return None


def span_of(frame: SourceLocation) -> Span:
    """The part of the source that a frame runs, narrowed to the operand that it reads."""
    whole = Span(frame.line, frame.end_line, frame.column, frame.end_column)
    if not frame.code or frame.instruction < 0:
        return whole
    code = ctypes.cast(frame.code, ctypes.py_object).value
    return operand_in(code, frame.instruction) or whole
