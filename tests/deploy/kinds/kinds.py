"""The kinds of models that docs/models.md has a row for, each a function that makes one."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, Any]

KINDS: dict[str, Callable[[], Made]] = {}  # the row's name -> what makes the model and its inputs


def kind(name: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    def keep(make: Callable[[], Made]) -> Callable[[], Made]:
        KINDS[name] = make
        return make

    return keep


def made(name: str) -> Made:
    """The same model in each call."""
    torch.manual_seed(0)
    model, inputs = KINDS[name]()
    return model.eval(), inputs


import odd  # noqa: E402, F401 - they fill KINDS

ODD = set(KINDS)

import usual  # noqa: E402, F401

if all(map(find_spec, ("timm", "transformers"))):
    import libraries  # noqa: F401
if find_spec("torchao"):
    import quantized  # noqa: F401
