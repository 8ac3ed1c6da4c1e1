"""Tells a model that is split over several accelerators on purpose from one that is half-moved."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from torchport._module_parts import shortened, whole_parts
from torchport._on_devices import on_devices
from torchport._quantities import counted
from torchport.observe.inventory import Held, home_of
from torchport.observe.result import OUTSIDE, Transfer


@dataclass(frozen=True)
class Split:
    """A model with tensors on several accelerators, each of its modules wholly on one of them.

    ``on_purpose`` says that the program takes care of the split: tensors moved between the
    accelerators within the model, or a device map placed the modules. Without either, a part was
    probably forgotten in a move.
    """

    parts: dict[str, list[str]]  # the names of the largest whole modules on each device
    home: str
    moves: tuple[str, ...]  # the lines that move tensors between the parts
    mapped: bool  # whether a device map placed the modules

    @property
    def on_purpose(self) -> bool:
        return self.mapped or bool(self.moves)

    def part_of(self, module: str) -> str:
        """The part that a module belongs to."""
        names = [name for part in self.parts.values() for name in part]
        return next((n for n in names if module == n or module.startswith(f"{n}.")), module)

    def words(self) -> str:
        """The parts: "first on cuda:0 and second on cuda:1"."""
        return on_devices((shortened(names), device) for device, names in self.parts.items())

    def how(self) -> str:
        """What shows that the split is meant."""
        if self.moves:
            return f"tensors move between its parts at {shortened(self.moves)}"
        return "a device map placed its modules"


def split_of(model: nn.Module, held: list[Held], transfers: list[Transfer]) -> Split | None:
    """How the model is split over accelerators. None if its registered tensors are on one
    accelerator, or if a module has tensors of its own on several devices."""
    registered = [h for h in held if h.kind != "unregistered tensor"]
    devices = {h.tensor.device for h in registered}
    accelerators = {str(d) for d in devices if d.type not in ("cpu", "meta")}
    own: dict[str, set[torch.device]] = {}
    for item in registered:
        own.setdefault(item.module, set()).add(item.tensor.device)
    mapped = bool(getattr(model, "hf_device_map", None))
    if len(accelerators) < 2 or any(len(places) > 1 for places in own.values()):
        return None
    places = {item.name: str(item.tensor.device) for item in registered}
    moves = {
        str(t.line or t.module): None
        for t in transfers
        if t.kind == "between devices" and t.module != OUTSIDE and not t.backward
        if {t.source, t.target} <= accelerators
    }
    return Split(whole_parts(places), str(home_of(held)), tuple(moves), mapped)


def missing_move(split: Split, module: str, device: str, other: str, target: str) -> str:
    """The fix where a tensor ``other`` reaches a part on another device without a move. ``target`` is
    the device of the part."""
    part = split.part_of(module)
    if split.on_purpose:
        return (
            f"the model is split on purpose ({split.words()}; {split.how()}), and {other} comes "
            f"to {part} without a move: move it before {part} is called, with .to({target!r})"
        )
    away = part if target != split.home else shortened(split.parts.get(device, [device]))
    return (
        f"{split.words()}, and nothing in this run moves a tensor between them. If {away} was "
        f"forgotten in a move, call model.to({split.home!r}); if the split is meant, move {other} "
        f"before {part} is called, with .to({target!r})"
    )


def unused(split: Split, called: dict[str, int]) -> list[str]:
    """The parts away from home that did not run. ``called`` has the calls of each module by name."""
    return [
        part
        for device, parts in split.parts.items()
        if device != split.home
        for part in parts
        if part in called
        and not any(
            calls for name, calls in called.items() if name == part or name.startswith(f"{part}.")
        )
    ]


def tensors_away(held: list[Held], home: torch.device) -> str:
    """How many registered tensors are on other devices than ``home``: "2 tensors on cpu"."""
    away: dict[str, int] = {}
    for item in held:
        if item.kind != "unregistered tensor" and item.tensor.device != home:
            away[str(item.tensor.device)] = away.get(str(item.tensor.device), 0) + 1
    return on_devices((counted(count, "tensor"), device) for device, count in sorted(away.items()))
