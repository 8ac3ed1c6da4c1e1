"""Functions that refuse arguments as pybind11 does, for names that torch binds with it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any


def _is_int(value: Any) -> bool:
    if isinstance(value, float):
        return False
    try:
        operator.index(value)
    except TypeError:
        return hasattr(value, "__int__") and not isinstance(value, str)
    return True


def word_for_int(torch: ModuleType) -> str:
    """How this torch's pybind11 writes an argument that takes an int, in the text of a refusal."""
    text = torch._C._jit_set_num_profiled_runs.__doc__ or ""
    return text.partition("(arg0: ")[2].partition(")")[0] or "int"


def bound(
    torch: ModuleType,
    name: str,
    takes: tuple[type, ...],
    returns: str,
    function: Callable[..., Any],
) -> Callable[..., Any]:
    """``function`` by its ``name``, which takes values of these types and nothing else.

    Raises:
        TypeError: At a call with other arguments, with pybind11's words for it.
    """
    words = {int: word_for_int(torch), str: "str"}
    arguments = ", ".join(
        f"arg{i}: {words.get(one, f'{one.__module__}.{one.__qualname__}')}"
        for i, one in enumerate(takes)
    )

    def fits(value: Any, wanted: type) -> bool:
        return _is_int(value) if wanted is int else isinstance(value, wanted)

    def call(*given: Any) -> Any:
        if len(given) != len(takes) or not all(map(fits, given, takes)):
            invoked = f"Invoked with: {', '.join(map(repr, given))}" if given else "Invoked with: "
            raise TypeError(
                f"{name}(): incompatible function arguments. The following argument types are "
                f"supported:\n    1. ({arguments}) -> {returns}\n\n{invoked}"
            )
        pairs = zip(given, takes, strict=True)
        return function(*(int(one) if kind is int else one for one, kind in pairs))

    call.__name__ = call.__qualname__ = name
    return call
