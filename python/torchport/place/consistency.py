"""Finds modules whose registry differs from the tensors in use: broken ties, replaced objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from torchport.place.adoption import MirroredBuffers
from torchport.place.half_moved import (
    elements_of,
    half_moved,
    of_losses,
    of_optimizer,
    unregistered,
)
from torchport.place.module_finding import ModuleFinding, dtype_and_device, named_tensors


def _memory(tensor: torch.Tensor) -> tuple[object, ...]:
    """A key that is equal for tensors that are the same view of the same memory."""
    try:
        storage = tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse tensors and wrappers have no storage
        return (id(tensor),)
    return (storage, tensor.storage_offset(), tensor.shape, tensor.stride())


@dataclass(frozen=True)
class SharedParameters:
    """The names in a module that referred to one tensor when `shared_parameters` was called.

    Attributes:
        groups: The groups of names, in the order of the module.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        >>> net[1].weight = net[0].weight
        >>> shared = torchport.shared_parameters(net)
        >>> net[1].weight = torch.nn.Parameter(torch.zeros(2, 2))
        >>> [found.name for found in shared.restore(net)]
        ['1.weight']
        >>> net[1].weight is net[0].weight
        True
    """

    groups: tuple[tuple[str, ...], ...]

    def broken(self, module: nn.Module) -> list[ModuleFinding]:
        """Finds the names that no longer refer to the tensor of the first name in their group.

        Args:
            module: The module that `shared_parameters` was called with.

        Returns:
            A finding for each such name.
        """
        now = dict(named_tensors(module))
        found = []
        for first, *others in self.groups:
            for name in others:
                one, two = now.get(first), now.get(name)
                if one is None or two is None or _memory(one) == _memory(two):
                    continue
                found.append(
                    ModuleFinding(
                        "untied",
                        name,
                        f"was the same tensor as {first} and is now a different one "
                        f"({dtype_and_device(two)}; {first}: {dtype_and_device(one)}): they are trained separately. Move "
                        "the model within `with torchport.keep_shared_parameters(model):`",
                    )
                )
        return found

    def restore(self, module: nn.Module) -> list[ModuleFinding]:
        """Ties broken names to the first name of their group again.

        Args:
            module: The module that `shared_parameters` was called with. It is changed.

        Returns:
            A finding for each name that was tied again.
        """
        found = self.broken(module)
        first_of = {name: group[0] for group in self.groups for name in group[1:]}
        for finding in found:
            target = module
            *path, leaf = first_of[finding.name].split(".")
            for part in path:
                target = getattr(target, part)
            owner_name, _, name = finding.name.rpartition(".")
            owner = module.get_submodule(owner_name)
            registry = owner._parameters if name in owner._parameters else owner._buffers
            registry[name] = getattr(target, leaf)
        return found


def shared_parameters(module: nn.Module) -> SharedParameters:
    """Finds the groups of names that refer to the same tensor or the same memory.

    Args:
        module: The root of the tree of modules. Parameters and buffers count.

    Returns:
        The groups of names. Its methods find names that are no longer shared, and share them
        again.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        >>> net[1].weight = net[0].weight
        >>> torchport.shared_parameters(net).groups
        (('0.weight', '1.weight'),)
    """
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, tensor in named_tensors(module):
        if elements_of(tensor):  # empty tensors have no memory to share
            groups.setdefault(_memory(tensor), []).append(name)
    return SharedParameters(tuple(tuple(names) for names in groups.values() if len(names) > 1))


@contextmanager
def keep_shared_parameters(module: nn.Module) -> Iterator[SharedParameters]:
    """Shares tensors again at the end of the block that were shared at its beginning.

    `to_empty()`, `load_state_dict(assign=True)`, and `.to()` for buffers split a shared tensor into
    two.

    Args:
        module: The root of the tree of modules.

    Yields:
        The groups of names that share a tensor.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)).to("meta")
        >>> net[1].weight = net[0].weight
        >>> with torchport.keep_shared_parameters(net):
        ...     _ = net.to_empty(device="cpu")
        >>> net[1].weight is net[0].weight
        True
    """
    before = shared_parameters(module)
    yield before
    before.restore(module)


def _shadowed(owner: str, module: nn.Module) -> Iterator[ModuleFinding]:
    for name in [*module._parameters, *module._buffers]:
        where = "the instance" if name in vars(module) else "the class"
        if name in vars(module) or hasattr(type(module), name):
            yield ModuleFinding(
                "shadowed",
                f"{owner}{name}",
                f"is registered, but {where} has an attribute of the same name, which the program "
                "reads instead; moves and state dicts do not include that attribute. Assign it "
                "through the module: self.name = ...",
            )


def _mirrors(owner: str, module: nn.Module) -> Iterator[ModuleFinding]:
    if not isinstance(module._buffers, MirroredBuffers):
        return
    for name, places in module._buffers.mirrors.items():
        for place in places:
            if place.get() is not module._buffers[name]:
                yield ModuleFinding(
                    "replaced",
                    f"{owner}{place}",
                    f"was set to a tensor other than the buffer {name}, but only the buffer is "
                    "moved and saved: assign to the buffer",
                )


def _recurrent(owner: str, module: nn.Module) -> Iterator[ModuleFinding]:
    if not isinstance(module, nn.RNNBase):
        return
    for name, weight in zip(module._flat_weights_names, module._flat_weights, strict=False):
        if weight is not getattr(module, name, None):
            yield ModuleFinding(
                "replaced",
                f"{owner}{name}",
                "the recurrent layer computes with a tensor other than the registered one: assign "
                "through setattr(module, name, parameter), not into _parameters",
            )


def check_module(
    module: nn.Module,
    *losses: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    before: SharedParameters | None = None,
) -> list[ModuleFinding]:
    """Finds inconsistencies in a module without changing anything.

    It finds parts of the module on another device than the rest, shadowed and replaced
    registrations, parameters outside the registry and other tensors there that a move left behind,
    tensors that are no longer shared, an optimizer with parameters that the module no longer has or
    with state on another device, and losses whose weights are on a different device than the module.

    Args:
        module: The root of the tree of modules.
        losses: The losses, which are not part of the module.
        optimizer: The optimizer that trains it.
        before: The result of `shared_parameters` from before the module was moved.

    Returns:
        The findings. The list is empty if the module is consistent.

    Example:
        >>> net = torch.nn.Linear(2, 2)
        >>> net.scales = [torch.nn.Parameter(torch.ones(2))]
        >>> [(found.kind, found.name) for found in torchport.check_module(net)]
        [('unregistered', 'scales[0]')]
    """
    found: list[ModuleFinding] = []
    for name, inner in module.named_modules():
        if isinstance(inner, torch.jit.ScriptModule):
            continue
        owner = f"{name}." if name else ""
        for part in (_shadowed, _mirrors, _recurrent):
            found += part(owner, inner)
    found += half_moved(module)
    found += unregistered(module)
    if before is not None:
        found += before.broken(module)
    if optimizer is not None:
        found += of_optimizer(module, optimizer)
    return found + list(of_losses(module, losses))
