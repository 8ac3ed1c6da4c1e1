"""What the end of an object does."""

from __future__ import annotations

import weakref
from collections.abc import Callable


def when_gone(thing: object, function: Callable[..., object], *arguments: object) -> None:
    """Calls the function once nothing has `thing` any more, unless Python is ending.

    A `__del__` would run then, too, when the names of its module are gone already.
    """
    weakref.finalize(thing, function, *arguments).atexit = False
