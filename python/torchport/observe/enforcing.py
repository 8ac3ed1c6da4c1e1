"""torchport.enforce: a live module refuses calls that a served model must not get."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import torch
from torch import nn

from torchport._module_parts import shortened
from torchport._on_devices import on_devices
from torchport._walk import walk
from torchport.observe.checklist import training_modules
from torchport.observe.inventory import held_by, home_of
from torchport.place import policy

_SHOWN = 4


class Enforced:
    """The checks that `enforce` added to a module. As a context manager it removes them at the end of
    the block.

    Attributes:
        device: The device that the module is held to; None if the module has no tensors.

    Example:
        >>> net = torch.nn.Linear(2, 1).eval()
        >>> with torchport.enforce(net) as enforced:
        ...     print(enforced.device)
        cpu
    """

    def __init__(self, module: nn.Module, check: _Check) -> None:
        self.device = check.device
        self._handle = module.register_forward_pre_hook(check, prepend=True, with_kwargs=True)

    def remove(self) -> None:
        """Removes the checks. A second call does nothing."""
        self._handle.remove()

    def __enter__(self) -> Enforced:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


class _Check:
    """The hook. It holds no module, so that the module can be copied and pickled with it."""

    def __init__(self, device: torch.device | None, evaluate: bool, grad: bool) -> None:
        self.device = device
        self.evaluate = evaluate
        self.grad = grad

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return  # torch.compile keeps the hooks of the module that it returns, and they run
        if wrong := [*self.of_module(module), *self._of_call(module, args, kwargs)]:
            raise RuntimeError(
                f"torchport: this call of {type(module).__name__} is refused by torchport.enforce:\n"
                + "\n".join(f"  {one}" for one in wrong)
            )

    def of_module(self, module: nn.Module) -> Iterable[str]:
        """What is wrong with the module itself: its mode, and the devices of its tensors."""
        if self.evaluate and any(inner.training for inner in module.modules()):
            training = [
                f"{name or type(inner).__name__} ({type(inner).__name__})"
                for name, inner in module.named_modules()
                if inner.training
            ]
            told = shortened(training_modules(module) or training)
            yield f"it is in training mode: {told}; call model.eval()"
        away = [
            (held.name, held.tensor.device)
            for held in held_by(module)
            if self._is_away(held.tensor)
        ]
        if away:
            yield (
                f"it has tensors on another device than {self.device}: {_on(away)}; call "
                f"model.to({str(self.device)!r}) once it is complete"
            )

    def _of_call(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterable[str]:
        if not self.grad and torch.is_grad_enabled():
            yield "gradients are on; call it within `with torch.inference_mode():`"
        away = [
            (name + found.path, found.value.device)
            for name, value in _named(module, args, kwargs)
            for found in walk(value)
            if isinstance(found.value, torch.Tensor) and self._is_away(found.value)
        ]
        if away:
            yield (
                f"it is on {self.device}, and its input is not: {_on(away)}; move it with "
                f".to({str(self.device)!r})"
            )

    def _is_away(self, tensor: torch.Tensor) -> bool:
        if self.device is None or tensor.device == self.device:
            return False
        return not (tensor.device.type == "cpu" and not tensor.dim())  # a number on the host


def _on(away: list[tuple[str, torch.device]]) -> str:
    more = f" and {len(away) - _SHOWN} more" if len(away) > _SHOWN else ""
    return on_devices(away[:_SHOWN]) + more


def _named(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, Any]]:
    """The arguments with the names of forward's parameters."""
    try:
        parameters = list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        parameters = []
    names = [
        parameters[index] if index < len(parameters) else f"inputs[{index}]"
        for index in range(len(args))
    ]
    return [*zip(names, args, strict=True), *kwargs.items()]


def enforce(
    module: nn.Module,
    *,
    device: str | torch.device | None = None,
    evaluate: bool = True,
    grad: bool = False,
) -> Enforced:
    """Makes a module refuse calls in the wrong mode, with gradients, or with tensors elsewhere.

    A model in a service is called for months, and one forgotten ``train()`` or ``.to()`` gives other
    results or a thousand times the memory, without an error. An artefact's Session refuses such
    calls by its contract; this does the same for a live module. The module is checked now, and each
    call before it runs: its mode, its parameters, buffers and other tensors, and its inputs. Numbers
    on the host are allowed on every device. Calls of submodules are not checked. Thread safe. A call
    costs some microseconds for each tensor of the module.

    Args:
        module: The module. For a module that is compiled, the one that `torch.compile` returned.
        device: The device that the module and its inputs must be on. The default is the one that
            most of the module is on.
        evaluate: Whether training mode is refused, in the module and in each module inside.
        grad: Whether gradients may be on.

    Returns:
        An `Enforced`; ``remove()``, or the end of a ``with`` block, takes the checks away.

    Raises:
        RuntimeError: The module itself is in the wrong mode or has tensors on another device, now
            or at a call; or the call is not allowed. The message names all that is wrong.
        TypeError: ``module`` is not a module, or a ScriptModule.

    Example:
        >>> net = torch.nn.Linear(2, 1).eval()
        >>> enforced = torchport.enforce(net, device="cpu")
        >>> net(torch.ones(1, 2))
        Traceback (most recent call last):
        RuntimeError: torchport: this call of Linear is refused by torchport.enforce:
          gradients are on; call it within `with torch.inference_mode():`
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"torchport: enforce needs an nn.Module, not {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError(
            "torchport: torch adds no checks to a ScriptModule; enforce a module that holds it, such "
            "as nn.Sequential(scripted)"
        )
    if isinstance(device, torch.device) and device.index is not None:
        place: torch.device | None = device
    else:
        place = policy.device(device) if device is not None else home_of(held_by(module))
    check = _Check(place, evaluate, grad)
    if wrong := list(check.of_module(module)):
        raise RuntimeError(
            f"torchport: {type(module).__name__} cannot be enforced yet:\n"
            + "\n".join(f"  {one}" for one in wrong)
        )
    return Enforced(module, check)
