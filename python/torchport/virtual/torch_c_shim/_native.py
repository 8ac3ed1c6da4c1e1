"""The runtime operators that the shim calls, and the errors for unsupported functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

from torchport._device_kinds import kind_in
from torchport._startup import VARIABLE


def ops() -> Any:
    """``torch.ops.torchport``. While torch is being imported, ``torch.ops`` is not there yet."""
    import torch._ops

    return torch._ops.ops.torchport


def kind() -> str:
    """The kind of the virtual devices, such as "cuda"; TORCHPORT_VIRTUAL begins with it."""
    return kind_in(os.environ.get(VARIABLE, "none"))


def refuse(name: str, why: str) -> NoReturn:
    raise NotImplementedError(f"torchport: virtual devices do not support {name}: {why}")


def refusing(name: str, why: str) -> Callable[..., NoReturn]:
    """A function that takes the place of ``name`` and raises the error of `refuse`."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        refuse(name, why)

    refused.__name__ = refused.__qualname__ = name.rsplit(".", 1)[-1]
    return refused
