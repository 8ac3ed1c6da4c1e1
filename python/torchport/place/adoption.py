"""`torchport.adopt`: registers unregistered tensors of a module as non-persistent buffers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, cast

import torch
from torch import nn

from torchport.place.unregistered import AttributePath, Unregistered, find_unregistered

_LONGEST_NAME = 80  # the limit for a buffer's name; a path through containers may be longer


class MirroredBuffers(dict[str, torch.Tensor | None]):
    """Replaces a module's `_buffers` and also writes a registered tensor to other places.

    `Module._apply` puts the moved tensor into this dict, and the dict puts it into the list that
    the model's `forward` reads. So the module keeps its class, its children and the keys of its
    state dict. A deep or pickled copy of the module has its own mirrors.
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
        # Items must not be set one by one: the module of the places is not complete yet.
        return MirroredBuffers, (dict(self), self.mirrors)


@dataclass(frozen=True)
class Adopted:
    """One tensor that `adopt` registered as a buffer.

    Attributes:
        name: Where the program reads it: "blocks.0.tables[1]".
        buffer: Its name in named_buffers().
        device: Its device.
        dtype: Its dtype.
        shape: Its shape.

    Example:
        >>> net = torch.nn.Linear(2, 2)
        >>> net.masks = [torch.ones(3, 2)]
        >>> one = torchport.adopt(net).adopted[0]
        >>> one.name, one.buffer, one.shape
        ('masks[0]', 'masks_0', (3, 2))
    """

    name: str
    buffer: str
    device: torch.device
    dtype: torch.dtype
    shape: tuple[int, ...]


@dataclass
class Adoption:
    """The result of `adopt`. It is false if no tensor was unregistered.

    Attributes:
        adopted: The tensors that are buffers now.
        left: The name of each tensor that was left as it is, and the reason.

    Example:
        >>> net = torch.nn.Linear(2, 2)
        >>> net.mask, net.half = torch.ones(3, 2), net.weight[:1].detach()
        >>> adoption = torchport.adopt(net)
        >>> [one.name for one in adoption.adopted]
        ['mask']
        >>> adoption.left
        [('half', 'it is a view of weight, which a move would separate from it; make it a property')]
    """

    adopted: list[Adopted] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

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
    """A name for the new buffer that the module does not use yet: tables[0] becomes tables_0."""
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


def storage_of(tensor: torch.Tensor) -> int | None:
    """The identity of the tensor's storage, equal for tensors that share memory; or None."""
    if isinstance(tensor, (nn.UninitializedParameter, nn.UninitializedBuffer)):
        return None
    try:
        if tensor.layout != torch.strided or not tensor.numel():
            return None
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # wrapper subclasses have no storage
        return None


class _Registry:
    """The registered tensors in a tree of modules, by identity and by storage."""

    def __init__(self, root: nn.Module) -> None:
        self.buffers: dict[int, tuple[nn.Module, str, str]] = {}  # module, name in it, full name
        self.memory: dict[int, str] = {}
        for owner, module in root.named_modules():
            prefix = f"{owner}." if owner else ""
            for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is None:
                    continue
                if name in module._buffers:
                    self.buffers.setdefault(id(tensor), (module, name, prefix + name))
                if (memory := storage_of(tensor)) is not None:
                    self.memory.setdefault(memory, prefix + name)

    def add(self, owner: str, module: nn.Module, name: str, tensor: torch.Tensor) -> str:
        whole = f"{owner}.{name}" if owner else name
        self.buffers[id(tensor)] = (module, name, whole)
        if (memory := storage_of(tensor)) is not None:
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
    alias = registry.memory.get(storage_of(value) or 0)
    if alias and id(value) not in registry.buffers:
        return f"it is a view of {alias}, which a move would separate from it; make it a property"
    return ""


def _register(found: Unregistered, registry: _Registry) -> str:
    """Registers the tensor as a buffer and returns the buffer's full name. If it is a buffer
    already, that buffer gets one more place to write to."""
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
        place.put(tensor)  # a tensor of the class becomes an attribute of the instance
        _mirror(module, name, place)
    return registry.add(found.owner, module, name, tensor)


def adopt(module: nn.Module) -> Adoption:
    """Registers unregistered tensors of ``module`` and its submodules, so that they move with it.

    Tensors become non-persistent buffers if they are plain attributes (of the instance or the
    class) or in lists, deques, tuples, dicts, dataclasses and attrs classes, to any depth. State
    dicts keep their keys, and the program reads the tensors where it did before. Tensors that
    cannot be adopted are left as they are and listed with the reason: modules and parameters
    outside the registry, views of registered tensors, tensors that gradients flow through, tensors
    in sets, in functions and in objects of other classes. No tensor is moved. A second call changes
    nothing. Not thread safe, because it changes the module.

    Args:
        module: The root of the tree of modules.

    Returns:
        The adopted tensors, and the tensors that were left with the reasons. The result is false if
        no tensor was unregistered.

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
