"""What `check_module` finds, and how it names tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class ModuleFinding:
    """An inconsistency of a module's tensors.

    Attributes:
        kind: "half-moved", "split", "untied", "shadowed", "replaced", "unregistered", "optimizer" or
            "loss-device".
        name: The tensor's name, from the root of the module.
        message: What is wrong and what to do.

    Example:
        >>> net = torch.nn.Linear(2, 2)
        >>> optimizer = torch.optim.SGD([net.weight], lr=0.1)
        >>> print(torchport.check_module(net, optimizer=optimizer)[0])
        bias: requires gradients, but the optimizer does not have it: it never changes [optimizer]
    """

    kind: str
    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message} [{self.kind}]"


def named_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields parameters and buffers; a tensor with several names is yielded for each name."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def dtype_and_device(tensor: torch.Tensor) -> str:
    """The dtype and the device as text: "float32 on cpu"."""
    return f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device}"
