"""Tensors that a module holds outside its registry.

`nn.Module` knows the parameters and buffers that are attributes of it. A tensor made by
`object.__setattr__`, kept in a list, a dict or a dataclass, or set on the class stays behind when
the module moves. This file finds such tensors and says where they are kept, by the rule of
`torchport._walk`; `adoption.py` registers them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torchport._remake import replaced
from torchport._walk import Step, attributes, told, walk


@dataclass(frozen=True, eq=False)
class AttributePath:
    """An attribute of a module, or what lies within it, where a tensor is kept."""

    module: nn.Module
    attribute: str
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return self.attribute + told(self.steps)

    def get(self) -> Any:
        value = getattr(self.module, self.attribute)
        for step in self.steps:
            value = step.take(value)
        return value

    def put(self, tensor: torch.Tensor) -> None:
        # Past nn.Module.__setattr__, which would register or refuse.
        held = self.module.__dict__
        held[self.attribute] = replaced(held.get(self.attribute), self.steps, tensor)


@dataclass(frozen=True, eq=False)
class Unregistered:
    """A tensor, or a module, that is in no registry; `obstacle` says why it cannot be registered."""

    owner: str  # the module's name in the tree, "" for the root
    place: AttributePath
    value: torch.Tensor | nn.Module
    obstacle: str = ""
    within: str = ""  # the unregistered module, named from the owner, whose tensor it is

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.place}" if self.owner else str(self.place)


def find_unregistered(root: nn.Module, *, open_modules: bool = False) -> Iterator[Unregistered]:
    """Every tensor and module that `root` and the modules under it hold outside of the registry.

    Parameters that are registered as well are not among them: a list of them, as recurrent layers
    have, sees their moves, which are in place. Registered modules that are held twice are not either.
    With `open_modules` the tensors of unregistered modules are given instead of the modules.
    """
    known = {id(module) for module in root.modules()}
    known |= {id(parameter) for parameter in root.parameters()}
    for owner, module in root.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue  # its attributes move with it
        for attribute, held in attributes(module):
            shared = not _is_of_instance(module, attribute)
            for found in walk(held, known=known, open_modules=open_modules):
                obstacle = found.obstacle
                if shared and found.steps and not obstacle:
                    obstacle = (
                        f"it is in {attribute} of the class, which all instances share; make it an "
                        "attribute in __init__()"
                    )
                within = "" if found.module is None else attribute + told(found.module)
                place = AttributePath(module, attribute, found.steps)
                yield Unregistered(owner, place, found.value, obstacle, within)


def _is_of_instance(module: nn.Module, attribute: str) -> bool:
    return attribute in vars(module)
