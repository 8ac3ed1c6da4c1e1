"""What the face calls in the runtime below it, and how it says that it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def ops() -> Any:
    """``torch.ops.torchport``. While torch is being imported, ``torch.ops`` is not there yet."""
    import torch._ops

    return torch._ops.ops.torchport


def refuse(name: str, why: str) -> NoReturn:
    raise NotImplementedError(f"{name}: not available on virtual devices: {why}")


def refusing(name: str, why: str) -> Callable[..., NoReturn]:
    """A function in the place of ``name`` that can only say so."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        refuse(name, why)

    refused.__name__ = refused.__qualname__ = name.rsplit(".", 1)[-1]
    return refused
