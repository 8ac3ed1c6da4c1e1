"""Modules that know their device, and losses that follow their input."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils import _pytree as pytree

M = TypeVar("M", bound=nn.Module)

_log = logging.getLogger("torchport")


class DeviceModule(nn.Module):
    """A module that registers all its tensors and knows its device and dtype.

    A tensor that is assigned (``self.mask = torch.ones(3)``) becomes a non-persistent buffer: it
    moves with the module, and state dicts keep their keys. Persistent buffers are registered as
    usual. A tensor that gradients flow through is a result, not a constant, and stays a plain
    attribute.

    Attributes:
        device: The device that the module was last moved to, or torch's default device at first.
        dtype: The floating-point dtype that the module was last cast to.
        here: A dict of ``device`` and ``dtype``, for factories.

    Example:
        >>> class Head(torchport.DeviceModule):
        ...     def forward(self, x: torch.Tensor) -> torch.Tensor:
        ...         return x + torch.ones(x.shape, **self.here)
        >>> head = Head().to(torch.float64)
        >>> head(torch.ones(1)).dtype
        torch.float64
    """

    def __init__(self) -> None:
        super().__init__()
        # This buffer moves with the module, so a module without parameters also knows its device.
        self.register_buffer("_anchor", torch.empty(0), persistent=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_constant(name, value):
            self.__dict__.pop(name, None)  # the attribute may have been None before
            self.register_buffer(name, value, persistent=False)
        else:
            super().__setattr__(name, value)

    def _is_constant(self, name: str, value: Any) -> bool:
        registered = self.__dict__.get("_buffers")
        return (
            isinstance(value, torch.Tensor)
            and not isinstance(value, nn.Parameter)
            and not value.requires_grad
            and registered is not None
            and name not in registered
            and name not in self._parameters
            and not hasattr(type(self), name)  # the setter of a property must run
        )

    _anchor: torch.Tensor

    @property
    def device(self) -> torch.device:
        return self._anchor.device

    @property
    def dtype(self) -> torch.dtype:
        return self._anchor.dtype

    @property
    def here(self) -> dict[str, Any]:
        return {"device": self.device, "dtype": self.dtype}


def _follow(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    # This runs in forward(), so it uses pytree, which torch.compile can trace.
    device = next(
        (t.device for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)), None
    )
    tensors = [*module.named_parameters(), *module.named_buffers()]
    behind = [f"{name} ({t.device})" for name, t in tensors if t.device != device]
    if device is not None and behind:
        kind = type(module).__name__
        _log.warning("%s: %s moved to %s, where its input is", kind, ", ".join(behind), device)
        module.to(device)


def follow_input(module: M) -> M:
    """Makes a loss (or another small module) move to the device of its first tensor.

    This is for losses with class weights, such as `nn.CrossEntropyLoss(weight=...)`: they are not
    part of the model, so moving the model does not move them. A move is logged as a warning on the
    logger "torchport". A second call changes nothing; the module can be copied and pickled. Do not
    use it for modules that get inputs from several devices at the same time.

    Args:
        module: The module.

    Returns:
        The module itself.

    Example:
        >>> criterion = torchport.follow_input(torch.nn.CrossEntropyLoss(weight=torch.ones(3)))
        >>> criterion(torch.zeros(2, 3), torch.tensor([0, 1])).item()
        1.0986...
    """
    if _follow not in module._forward_pre_hooks.values():
        module.register_forward_pre_hook(_follow, prepend=True, with_kwargs=True)
    return module
