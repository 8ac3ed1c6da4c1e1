"""Makes the arguments of the model's call from the caller's inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader

from torchport.observe.naming import named_tensors
from torchport.place.loader import Loader


@dataclass
class Inputs:
    """The arguments of the call. ``left_out`` is the number of parts of a batch that the model does
    not take."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    loader: bool = False
    left_out: int = 0

    def moved(self, device: torch.device) -> Inputs:
        args, kwargs = pytree.tree_map_only(
            torch.Tensor, lambda tensor: tensor.to(device), (self.args, self.kwargs)
        )
        return Inputs(args, kwargs, self.loader, self.left_out)

    def named(self, function: Callable[..., Any]) -> dict[str, torch.Tensor]:
        """The tensors among the arguments, by the parameter names of ``function``."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a compiled module has no signature
            parameters = []
        names = []
        for index in range(len(self.args)):
            fits = index < len(parameters) and parameters[index].kind in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
            names.append(parameters[index].name if fits else f"inputs[{index}]")
        return named_tensors([*names, *map(str, self.kwargs)], [*self.args, *self.kwargs.values()])


def inputs_from(given: Any, model: nn.Module, call: Callable[..., Any] | None) -> Inputs:
    """Makes the arguments. A tuple holds positional arguments, a mapping holds keyword arguments,
    and a DataLoader (or a loader of torchport) gives its first batch. Anything else is the only
    argument. None means no argument.

    Raises ValueError if a DataLoader yields no batch.
    """
    if isinstance(given, (DataLoader, Loader)):
        batch = next(iter(given), None)
        if batch is None:
            raise ValueError("torchport: the loader yields no batch, so there is nothing to run")
        return _of_batch(batch, model, call)
    if given is None:
        return Inputs()
    if isinstance(given, tuple):
        return Inputs(given)
    if isinstance(given, Mapping):
        return Inputs(kwargs={str(key): value for key, value in given.items()})
    return Inputs((given,))


def _of_batch(batch: Any, model: nn.Module, call: Callable[..., Any] | None) -> Inputs:
    if call is not None:
        return Inputs((batch,), loader=True)
    if isinstance(batch, Mapping):
        return Inputs(kwargs={str(key): value for key, value in batch.items()}, loader=True)
    if not isinstance(batch, (tuple, list)):
        return Inputs((batch,), loader=True)
    # Of a batch such as (images, labels), the model takes the first parts.
    args = tuple(batch)
    try:
        signature = inspect.signature(model.forward)
    except (TypeError, ValueError):
        return Inputs(args, loader=True)
    for count in range(len(args), 0, -1):
        try:
            signature.bind(*args[:count])
        except TypeError:
            continue
        return Inputs(args[:count], loader=True, left_out=len(args) - count)
    return Inputs(args, loader=True)
