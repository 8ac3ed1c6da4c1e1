"""Finds unregistered tensors: tensors that a module holds outside of its registry.

`nn.Module` knows only the parameters and buffers that are attributes of it. A tensor that is set by
`object.__setattr__`, that is in a list, a dict or a dataclass, or that is an attribute of the class
stays behind when the module moves. The search follows the rule of `torchport._walk`; `adoption.py`
registers the tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torchport._remake import replaced
from torchport._walk import Step, attributes, path_text, walk


@dataclass(frozen=True, eq=False)
class AttributePath:
    """The place of a tensor: an attribute of a module and the steps from there to the tensor."""

    module: nn.Module
    attribute: str
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return self.attribute + path_text(self.steps)

    def get(self) -> Any:
        value = getattr(self.module, self.attribute)
        for step in self.steps:
            value = step.take(value)
        return value

    def put(self, tensor: torch.Tensor) -> None:
        # This bypasses nn.Module.__setattr__, which would register the tensor or raise an error.
        held = self.module.__dict__
        held[self.attribute] = replaced(held.get(self.attribute), self.steps, tensor)


@dataclass(frozen=True, eq=False)
class Unregistered:
    """An unregistered tensor or module; `obstacle` says why it cannot be registered."""

    owner: str  # the module's name in the tree, "" for the root
    place: AttributePath
    value: torch.Tensor | nn.Module
    obstacle: str = ""
    within: str = ""  # the path from the owner to the unregistered module that holds the tensor

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.place}" if self.owner else str(self.place)


def find_unregistered(root: nn.Module, *, open_modules: bool = False) -> Iterator[Unregistered]:
    """Yields every tensor and module that `root` and its submodules hold outside of the registry.

    Registered parameters and modules that are also in a list are skipped: they move in place, so
    the list needs no change. With `open_modules` it yields the tensors of unregistered modules
    instead of the modules.
    """
    known = {id(module) for module in root.modules()}
    known |= {id(parameter) for parameter in root.parameters()}
    for owner, module in root.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue  # all attributes of a ScriptModule move with it
        for attribute, held in attributes(module):
            shared = not _is_of_instance(module, attribute)
            for found in walk(held, known=known, open_modules=open_modules):
                obstacle = found.obstacle
                if shared and found.steps and not obstacle:
                    obstacle = (
                        f"it is in {attribute} of the class, which all instances share; make it an "
                        "attribute in __init__()"
                    )
                within = "" if found.module is None else attribute + path_text(found.module)
                place = AttributePath(module, attribute, found.steps)
                yield Unregistered(owner, place, found.value, obstacle, within)


def _is_of_instance(module: nn.Module, attribute: str) -> bool:
    return attribute in vars(module)
