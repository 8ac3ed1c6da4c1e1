"""Names of inductor that its modules have imported from one another."""

from __future__ import annotations

import sys
from typing import Any


def replace(old: Any, new: Any) -> None:
    """Puts `new` into the place of a function or class of inductor, in every module of inductor that is
    loaded and knows it by its own name."""
    own_name = old.__name__
    for name, module in list(sys.modules.items()):
        if name.startswith("torch._inductor") and vars(module).get(own_name) is old:
            setattr(module, own_name, new)
