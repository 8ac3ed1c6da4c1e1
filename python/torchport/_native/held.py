"""Objects of C++ that live as long as objects of Python."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import NoReturn


class Held:
    """An object of C++ that lives as long as this one.

    When the interpreter ends, the object is not freed: a thread may still use it.
    """

    __slots__ = ("__weakref__", "_address")

    def _hold(self, address: int, free: Callable[[int], None]) -> None:
        self._address = address
        weakref.finalize(self, free, address).atexit = False

    def __reduce__(self) -> NoReturn:  # a copy would have the same address, and outlive the object
        raise TypeError(f"torchport: a {type(self).__name__} cannot be copied or pickled")
