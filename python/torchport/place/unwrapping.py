"""Unwraps models, for access to their attributes and for saving."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn

from torchport._native.checkpoints import wrapped_attributes
from torchport.place.moving import to

# The attribute in which each wrapper keeps the wrapped model, by the wrapper's class.
_WRAPPED = wrapped_attributes()


def inner_of(model: nn.Module) -> nn.Module | None:
    """The model in a wrapper; None if ``model`` is not a wrapper."""
    for kind in type(model).__mro__:
        if attribute := _WRAPPED.get(f"{kind.__module__}.{kind.__qualname__}"):
            return cast(nn.Module, getattr(model, attribute))
    return None


def unwrap_model(model: nn.Module) -> nn.Module:
    """Returns the model within torch.compile, DataParallel, DistributedDataParallel, FSDP and
    AveragedModel.

    The wrappers may be nested. fully_shard and tensor parallelism do not wrap the model: the same
    model is returned, and its parameters stay DTensors. `full_state_dict` makes plain tensors.

    Args:
        model: The model, wrapped or not.

    Returns:
        The innermost model. It is not copied.

    Example:
        >>> net = torch.nn.Linear(2, 2)
        >>> torchport.unwrap_model(torch.nn.DataParallel(net)) is net
        True
    """
    while (inner := inner_of(model)) is not None:
        model = inner
    return model


def _plain_key(model: nn.Module, key: str) -> str:
    """Removes the names of wrappers inside the model from a key."""
    parts: list[str] = []
    module: nn.Module | None = model
    for part in key.split("."):
        inner = inner_of(module) if module is not None else None
        wrapped = inner is not None and getattr(module, part, None) is inner
        if not wrapped:
            parts.append(part)
        module = module._modules.get(part) if module is not None else None
    return ".".join(parts)


def full_state_dict(model: nn.Module, *, rank0_only: bool = False) -> dict[str, object]:
    """Makes the state dict of the unwrapped model, with plain keys and whole tensors on the CPU.

    Compiled and wrapped modules inside the model do not change the keys. The result loads without
    the wrappers and on any number of devices. Shared tensors stay shared.

    Args:
        model: The model. If its parameters are sharded or split, all processes must call this,
            because each provides its part.
        rank0_only: Whether all processes except the first get an empty dict.

    Returns:
        The tensors by name.

    Example:
        >>> list(torchport.full_state_dict(torch.nn.DataParallel(torch.nn.Linear(2, 2))))
        ['weight', 'bias']
    """
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor

    inner = unwrap_model(model)
    whole: dict[str, object] = {}
    keep = not rank0_only or not dist.is_initialized() or dist.get_rank() == 0
    for key, value in inner.state_dict().items():
        if isinstance(value, DTensor):
            value = value.full_tensor().cpu()  # one by one, so that no device holds all of them
        if keep:
            whole[_plain_key(inner, key)] = value
    return to(whole, torch.device("cpu"))  # to() keeps ties
