"""`torchport.adopt`: unregistered tensors of a module become non-persistent buffers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, cast

import torch
from torch import nn

from torchport.place.unregistered import AttributePath, Unregistered, find_unregistered

_LONGEST_NAME = 80  # of a buffer; the place itself may be any number of containers deep


class MirroredBuffers(dict[str, torch.Tensor | None]):
    """A module's `_buffers` that writes what is registered to other places, too.

    `Module._apply` puts the moved tensor into this dict; a list that the model's `forward` reads
    gets it from here. So the module keeps its class, its children and its state dict's keys, and
    copies of it, deep or pickled, have mirrors of their own.
    """

    def __init__(
        self, items: dict[str, torch.Tensor | None], mirrors: dict[str, list[AttributePath]]
    ) -> None:
        super().__init__(items)
        self.mirrors = mirrors

    def __setitem__(self, name: str, tensor: torch.Tensor | None) -> None:
        super().__setitem__(name, tensor)
        if tensor is not None:
            for place in self.mirrors.get(name, ()):
                place.put(tensor)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.mirrors.pop(name, None)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # Not item by item: the places are of a module that is not put together yet.
        return MirroredBuffers, (dict(self), self.mirrors)


@dataclass(frozen=True)
class Adopted:
    """One tensor that is a buffer now."""

    name: str  # where the program reads it: "blocks.0.tables[1]"
    buffer: str  # its name among named_buffers()
    device: torch.device
    dtype: torch.dtype
    shape: tuple[int, ...]


@dataclass
class Adoption:
    """What `adopt` did; false if there was nothing to do and nothing is left."""

    adopted: list[Adopted] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)  # name, why

    def __bool__(self) -> bool:
        return bool(self.adopted or self.left)

    def __str__(self) -> str:
        lines = []
        for one in self.adopted:
            kind = f"{str(one.dtype).removeprefix('torch.')} {list(one.shape)}, {one.device}"
            as_name = "" if one.buffer == one.name else f" as {one.buffer}"
            lines.append(f"adopted {one.name}{as_name}: {kind}")
        lines += [f"left {name}: {why}" for name, why in self.left]
        return "\n".join(lines) or "no unregistered tensors"


def _free_name(place: AttributePath) -> str:
    """A name for a buffer that the module does not have yet: tables[0] is tables_0."""
    name = re.sub(r"\W+", "_", str(place)).strip("_")[:_LONGEST_NAME] or "tensor"
    while hasattr(place.module, name):
        name += "_"
    return name


def _mirror(module: nn.Module, buffer: str, place: AttributePath) -> None:
    buffers = module._buffers
    if not isinstance(buffers, MirroredBuffers):
        buffers = MirroredBuffers(buffers, {})
        module.__dict__["_buffers"] = buffers
    buffers.mirrors.setdefault(buffer, []).append(place)


def _storage_of(tensor: torch.Tensor) -> int | None:
    """What is the same for tensors that share memory; None for those without."""
    if tensor.layout != torch.strided or not tensor.numel():
        return None
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # wrappers without a storage of their own
        return None


class _Registry:
    """What is registered in a tree of modules, by identity and by memory."""

    def __init__(self, root: nn.Module) -> None:
        self.buffers: dict[int, tuple[nn.Module, str, str]] = {}  # module, name there, whole name
        self.memory: dict[int, str] = {}
        for owner, module in root.named_modules():
            prefix = f"{owner}." if owner else ""
            for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is None:
                    continue
                if name in module._buffers:
                    self.buffers.setdefault(id(tensor), (module, name, prefix + name))
                if (memory := _storage_of(tensor)) is not None:
                    self.memory.setdefault(memory, prefix + name)

    def add(self, owner: str, module: nn.Module, name: str, tensor: torch.Tensor) -> str:
        whole = f"{owner}.{name}" if owner else name
        self.buffers[id(tensor)] = (module, name, whole)
        if (memory := _storage_of(tensor)) is not None:
            self.memory.setdefault(memory, whole)
        return whole


def _obstacle(found: Unregistered, registry: _Registry) -> str:
    """Why a tensor cannot be adopted; empty if it can be."""
    value = found.value
    if found.obstacle:
        return found.obstacle
    if isinstance(value, nn.Module):
        return (
            f"it is a module ({type(value).__name__}) outside the registry: .to() does not move "
            "it and optimizers do not see it; keep it in an nn.ModuleList or nn.ModuleDict"
        )
    if isinstance(value, nn.Parameter):
        return (
            "it is a parameter outside the registry: optimizers do not see it; keep it in an "
            "nn.ParameterList or call register_parameter()"
        )
    if value.requires_grad:
        return (
            "gradients flow through it; if it is a constant, call .detach(); if it is a weight, "
            "make it a parameter"
        )
    alias = registry.memory.get(_storage_of(value) or 0)
    if alias and id(value) not in registry.buffers:
        return f"it is a view of {alias}, which a move would separate from it; make it a property"
    return ""


def _register(found: Unregistered, registry: _Registry) -> str:
    """Makes the tensor a buffer, or a second place of the one that it is; that one's whole name."""
    place, tensor = found.place, cast(torch.Tensor, found.value)
    if known := registry.buffers.get(id(tensor)):
        _mirror(known[0], known[1], place)
        return known[2]
    module = place.module
    plain = not place.steps and not hasattr(type(module), place.attribute)
    if plain:
        del module.__dict__[place.attribute]
    name = place.attribute if plain and "." not in place.attribute else _free_name(place)
    module.register_buffer(name, tensor, persistent=False)
    if not plain:
        place.put(tensor)  # an instance's own, where it was the class's
        _mirror(module, name, place)
    return registry.add(found.owner, module, name, tensor)


def adopt(module: nn.Module) -> Adoption:
    """Registers unregistered tensors of ``module`` and its submodules, so that they move with it.

    Tensors become non-persistent buffers if they are plain attributes (of the instance or the
    class) or in lists, deques, tuples, dicts, dataclasses and attrs classes, to any depth. State
    dicts keep their keys, and the program reads the tensors where it did before. Tensors that
    cannot be adopted are left as they are and listed with the reason: modules and parameters
    outside the registry, views of registered tensors, tensors that gradients flow through, tensors
    in sets, in functions and in objects of other classes. Nothing is moved. Idempotent. Not thread
    safe: it changes the module.

    Args:
        module: The root of the tree of modules.

    Returns:
        What was adopted, and what was left and why. It is false if there was nothing to do.

    Example:
        >>> net = torch.nn.Linear(2, 2)
        >>> net.masks = [torch.ones(2)]
        >>> print(torchport.adopt(net))
        adopted masks[0] as masks_0: float32 [2], cpu
        >>> net.to(torch.float64).masks[0].dtype
        torch.float64
    """
    report = Adoption()
    registry = _Registry(module)
    mirrored = {
        (id(place.module), str(place))
        for inner in module.modules()
        if isinstance(inner._buffers, MirroredBuffers)
        for places in inner._buffers.mirrors.values()
        for place in places
    }
    for one in list(find_unregistered(module)):
        if (id(one.place.module), str(one.place)) in mirrored:
            continue
        if why := _obstacle(one, registry):
            report.left.append((one.name, why))
            continue
        buffer = _register(one, registry)
        tensor = cast(torch.Tensor, one.value)
        report.adopted.append(
            Adopted(one.name, buffer, tensor.device, tensor.dtype, tuple(tensor.shape))
        )
    return report
