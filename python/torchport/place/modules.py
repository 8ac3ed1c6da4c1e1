"""Modules that know their device, and losses that follow their input."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import nn
from torch.utils import _pytree as pytree

from torchport._remake import replaced
from torchport._walk import attributes, tensors_in, walk
from torchport.place import policy
from torchport.place.adoption import storage_of

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M", bound=nn.Module)

_log = logging.getLogger("torchport")


class DeviceModule(nn.Module):
    """A module that registers all its tensors and knows its device and dtype.

    A tensor that is assigned (``self.mask = torch.ones(3)``) becomes a non-persistent buffer: it
    moves with the module, and state dicts keep their keys. Persistent buffers are registered as
    usual. Tensors in lists, tuples, dicts and dataclasses move with the module, too; the program may
    change these containers at any time. Modules in them do not. After the module was moved, what
    is assigned follows it: tensors, parameters, containers, and modules that are on the CPU. A
    tensor that gradients flow through is a result, not a constant: it stays a plain attribute, where
    it is.

    Attributes:
        device: The device that the module was last moved to, or torch's default device at first.
            Assigning to it moves the module; it takes what `device` takes.
        dtype: The floating-point dtype that the module was last cast to.
        here: A dict of ``device`` and ``dtype``, for factories.

    Example:
        >>> class Head(torchport.DeviceModule):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.scales = [torch.ones(2), torch.ones(3)]
        ...
        ...     def forward(self, x: torch.Tensor) -> torch.Tensor:
        ...         return x + torch.ones(x.shape, **self.here)
        >>> head = Head().to(torch.float64)
        >>> head(torch.ones(1)).dtype, head.scales[1].dtype
        (torch.float64, torch.float64)
        >>> head.device = "cpu"
    """

    _anchor: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        # This buffer moves with the module, so a module without parameters also knows its device.
        self.register_buffer("_anchor", torch.empty(0), persistent=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get("_was_moved"):
            value = self._followed(name, value)
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

    def _followed(self, name: str, value: Any) -> Any:
        """The assigned value on the module's device. Containers, parameters and modules keep their
        identity."""
        if hasattr(getattr(type(self), name, None), "__set__") or self.device.type == "meta":
            return value
        if isinstance(value, nn.Module):
            if all(tensor.device.type == "cpu" for tensor in tensors_in(value)):
                value.to(self.device)
            return value
        if isinstance(value, torch.Tensor):
            return _moved(value, lambda tensor: tensor.to(self.device))
        return _moved_within(value, lambda tensor: tensor.to(self.device), _Registered(self))

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        before, registered = self.device, _Registered(self)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        registered.add_new()
        for name, value in list(attributes(self)):
            if name in self.__dict__:
                self.__dict__[name] = (
                    _moved(value, fn)
                    if isinstance(value, torch.Tensor)
                    else _moved_within(value, fn, registered)
                )
        if self.device != before:
            self.__dict__["_was_moved"] = True
        return self

    @property
    def device(self) -> torch.device:
        return self._anchor.device

    @device.setter
    def device(self, wanted: str | torch.device) -> None:
        self.to(wanted if isinstance(wanted, torch.device) else policy.device(wanted))

    @property
    def dtype(self) -> torch.dtype:
        return self._anchor.dtype

    @property
    def here(self) -> dict[str, Any]:
        return {"device": self.device, "dtype": self.dtype}


class _Registered:
    """The registered tensors of a module, before and after a move. A container that holds one gets
    the moved one; a view of one stays, because a move would separate it from the other."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._before = self._named()
        self.moved: dict[int, torch.Tensor] = {id(t): t for t in self._before.values()}
        self.memory = {storage_of(tensor) for tensor in self._before.values()} - {None}

    def add_new(self) -> None:
        """Call this after the move."""
        for name, tensor in self._named().items():
            self.moved[id(tensor)] = self.moved[id(self._before[name])] = tensor
            self.memory |= {storage_of(tensor)} - {None}

    def _named(self) -> dict[str, torch.Tensor]:
        named = [*self._module.named_parameters(remove_duplicate=False)]
        return {**dict(named), **dict(self._module.named_buffers(remove_duplicate=False))}


def _moved(value: torch.Tensor, move: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A tensor after a move. A parameter is changed in place, as by `nn.Module.to`; a result of
    autograd is left as it is."""
    if isinstance(value, nn.Parameter):
        with torch.no_grad():
            value.data = move(value.data)
            if value.grad is not None:
                value.grad.data = move(value.grad.data)
        return value
    return value if value.requires_grad else move(value)


def _moved_within(
    value: Any, move: Callable[[torch.Tensor], torch.Tensor], registered: _Registered
) -> Any:
    """A container with its tensors moved; only tuples are new. Modules, and tensors that cannot be
    replaced (in sets, closures and other objects), stay."""
    done = dict(registered.moved)
    for found in list(walk(value)):
        item = found.value
        if isinstance(item, nn.Module) or found.obstacle or not found.steps:
            continue
        if id(item) not in done:
            is_view = storage_of(item) in registered.memory
            done[id(item)] = item if is_view else _moved(item, move)
        if done[id(item)] is not item:
            value = replaced(value, found.steps, done[id(item)])
    return value


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
