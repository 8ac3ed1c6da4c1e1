"""Names of PyTorch's tests: each test of a device file is made once for each kind of device."""

from __future__ import annotations

import re

_CLASS = re.compile(r"(CPU|CUDA)(?=::|$)")
_TEST = re.compile(r"_(?:cpu|cuda)(?=_|$)(?!.*_(?:cpu|cuda)(?:_|$))")


def neutral(test: str) -> str:
    """The name without the kind of device: the same for the two tests that are made of one."""
    owner, mark, name = test.rpartition("::")
    return _CLASS.sub("DEVICE", owner, count=1) + mark + _TEST.sub("_DEVICE", name, count=1)
