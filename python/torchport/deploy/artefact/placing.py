"""Puts all tensors of a model on one device and in one floating dtype."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import nn

from torchport.deploy.artefact.errors import ExportError
from torchport.place.adoption import adopt


def tensors_of(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()


def adopt_unregistered(module: nn.Module, notes: list[str]) -> None:
    """Registers unregistered tensors of the model as buffers, so that they move with it. The
    buffers are not persistent, so the state dict keeps its keys.
    """
    adoption = adopt(module)
    for one in adoption.adopted:
        buffer = "a buffer" if one.buffer == one.name else f"the buffer {one.buffer}"
        notes.append(f"registered the attribute {one.name} as {buffer}")
    notes += [f"left {name} as it is: {why}" for name, why in adoption.left]


def convert(module: nn.Module, to: torch.device | torch.dtype) -> None:
    """Like module.to(to), but assigns new tensors: the old ones may be the caller's."""
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        module.to(to)
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(before)


def one_device(module: nn.Module, inputs: list[tuple[str, torch.Tensor]]) -> torch.device:
    """Returns the one device of all tensors. Raises ExportError, which names the tensors, if there
    are several devices, and if the weights are on the meta device."""
    places: dict[torch.device, list[str]] = defaultdict(list)
    for name, tensor in tensors_of(module):
        places[tensor.device].append(name)
    for name, tensor in inputs:
        places[tensor.device].append(f"input {name}")
    if len(places) > 1:
        lines = [f"the model and its inputs are on {len(places)} devices:"]
        for device, names in sorted(places.items(), key=lambda item: len(item[1])):
            more = f" and {len(names) - 6} more" if len(names) > 6 else ""
            lines.append(f"  {device}: {', '.join(names[:6])}{more}")
        lines.append("choose one: device=... (--device ...) moves everything there")
        raise ExportError("\n".join(lines))
    if torch.device("meta") in places:
        raise ExportError("the model is on the meta device and has no weights: pass weights=...")
    return next(iter(places))


def floating_dtypes(module: nn.Module) -> dict[torch.dtype, list[str]]:
    dtypes: dict[torch.dtype, list[str]] = defaultdict(list)
    for name, tensor in tensors_of(module):
        if tensor.is_floating_point():
            dtypes[tensor.dtype].append(name)
    return dict(dtypes)
