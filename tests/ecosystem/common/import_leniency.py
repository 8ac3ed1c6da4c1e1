"""What code relies on that Python refuses: what older releases accepted, and stubs in place of classes."""

from __future__ import annotations

import builtins
import collections.abc
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import import_stubs
import numpy

# (module, name): what took its place. Any other name that a module lacks becomes a stub.
RENAMED: dict[tuple[str, str], Any] = {
    **{("collections", name): getattr(collections.abc, name) for name in collections.abc.__all__},
    **{
        ("numpy", name): getattr(builtins, name)
        for name in ("bool", "int", "float", "complex", "str")
    },
    ("numpy", "float_"): numpy.float64,
    ("numpy", "complex_"): numpy.complex128,
    ("numpy", "unicode_"): numpy.str_,
    ("numpy", "string_"): numpy.bytes_,
    **{("numpy", name): numpy.inf for name in ("Inf", "Infinity", "PINF", "infty")},
    ("numpy", "NaN"): numpy.nan,
    ("numpy", "product"): numpy.prod,
    ("numpy", "object"): object,
    ("numpy", "long"): int,
}


def allow_mutable_defaults() -> None:
    """Python 3.11 refuses an instance of a dataclass as default of a field."""
    get_field = dataclasses._get_field  # type: ignore[attr-defined]

    def lenient(cls: type, name: str, *rest: Any) -> Any:
        default = getattr(cls, name, None)
        value = default.default if isinstance(default, dataclasses.Field) else default
        if type(value).__hash__ is None and dataclasses.is_dataclass(value):
            type(value).__hash__ = object.__hash__
        return get_field(cls, name, *rest)

    dataclasses._get_field = lenient  # type: ignore[attr-defined]


def allow_dispatch_on_stubs() -> None:
    """`register` of a generic function wants classes."""
    make = functools.singledispatch

    @functools.wraps(make)
    def lenient(function: Callable[..., Any]) -> Any:
        generic = make(function)
        register = generic.register

        def register_any(cls: Any, function: Any = None) -> Any:
            if not isinstance(cls, import_stubs.Stub):
                return register(cls, function)
            return function or (lambda decorated: decorated)

        generic.register = register_any
        return generic

    functools.singledispatch = lenient
