"""Finds what a move left behind: parts of a module, tensors outside its registry, the optimizer's
state, losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch
from torch import nn

from torchport._module_parts import shortened, whole_parts
from torchport._on_devices import on_devices
from torchport._quantities import counted
from torchport._walk import tensors_in
from torchport.place.module_finding import ModuleFinding, dtype_and_device, named_tensors
from torchport.place.unregistered import Unregistered, find_unregistered


def home_of(module: nn.Module) -> torch.device | None:
    """The device that most elements of the module are on. Tensors without data do not count."""
    sizes: Counter[torch.device] = Counter()
    for _, tensor in named_tensors(module):
        if not tensor.is_meta:
            sizes[tensor.device] += elements_of(tensor) + 1
    return sizes.most_common(1)[0][0] if sizes else None


def elements_of(tensor: torch.Tensor) -> int:
    """The number of elements; 0 if a lazy module does not know it yet."""
    lazy = isinstance(tensor, (nn.UninitializedParameter, nn.UninitializedBuffer))
    return 0 if lazy or tensor.is_nested else tensor.numel()


def half_moved(module: nn.Module) -> Iterator[ModuleFinding]:
    """Parts on another device than most of the module. A module that a device map spread over
    devices is as it should be."""
    home = home_of(module)
    if home is None or getattr(module, "hf_device_map", None):
        return
    tensors = dict(named_tensors(module))
    parts = whole_parts({name: str(tensor.device) for name, tensor in tensors.items()})
    for device, names in parts.items():
        for name in names if device != str(home) else ():
            inside = [n for n in tensors if n == name or n.startswith(f"{name}.")]
            yield _of_part(name, device, str(home), len(inside), parts)
    for name, parameter in module.named_parameters():
        if parameter.grad is not None and parameter.grad.device != parameter.device:
            yield ModuleFinding(
                "half-moved",
                f"{name}.grad",
                f"is on {parameter.grad.device}, and the parameter on {parameter.device}: call "
                "zero_grad() after the move",
            )


def _of_part(
    name: str, device: str, home: str, count: int, parts: dict[str, list[str]]
) -> ModuleFinding:
    rest = on_devices(
        (shortened(names), place) for place, names in parts.items() if place != device
    )
    told = f"is on {device} ({counted(count, 'tensor')}), {rest}"
    if device == "meta":
        why = "it has no data yet: load its weights, or call to_empty() and initialize it"
        return ModuleFinding("half-moved", name, f"{told}: {why}")
    if "cpu" in (device, home):
        return ModuleFinding(
            "half-moved",
            name,
            f"{told}: it was not moved with the rest. Call module.to({home!r}) once the module is "
            "complete",
        )
    return ModuleFinding(
        "split",
        name,
        f"{told}: if that is meant, forward() must move its input to {device}, and `torchport verify` "
        f"shows whether it does; otherwise call module.to({home!r})",
    )


def unregistered(module: nn.Module) -> Iterator[ModuleFinding]:
    """Parameters outside the registry, and other tensors there that a move left behind."""
    home = home_of(module)
    shapes: dict[torch.Size, str] = {}
    for name, parameter in module.named_parameters():
        if elements_of(parameter):
            shapes.setdefault(parameter.shape, name)
    recurrent = {id(m) for m in module.modules() if isinstance(m, nn.RNNBase)}
    registered = {id(tensor) for _, tensor in named_tensors(module)}
    for one in find_unregistered(module):
        if id(one.place.module) in recurrent or id(one.value) in registered:
            continue
        if isinstance(one.value, nn.Parameter):
            like = shapes.get(one.value.shape)
            hint = f"; {like} has the same shape and may have replaced it" if like else ""
            yield ModuleFinding(
                "unregistered",
                one.name,
                f"is a parameter that is in no registry, {dtype_and_device(one.value)}: it is not "
                f"moved, saved or trained{hint}",
            )
        elif home is not None:
            yield from _left_behind(one, home)


def _left_behind(one: Unregistered, home: torch.device) -> Iterator[ModuleFinding]:
    away = next((t for t in tensors_in(one.value) if t.device != home and not t.is_meta), None)
    if away is None or (away.device.type == "cpu" and not away.dim()):
        return  # a number on the host goes with any device
    if isinstance(one.value, nn.Module):
        what = (
            f"a module ({type(one.value).__name__}) in no registry, with tensors on {away.device}"
        )
        todo = "keep it in an nn.ModuleList or nn.ModuleDict"
    else:
        what = f"a tensor in no registry, {dtype_and_device(away)}"
        todo = "register it as a buffer, or call torchport.adopt(module) before the move"
    yield ModuleFinding(
        "unregistered",
        one.name,
        f"is {what}, and the module is on {home}: module.to() does not move it; {todo}",
    )


def of_optimizer(module: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[ModuleFinding]:
    """Parameters that the optimizer and the module do not share, and state on another device."""
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    seen = set()
    for number, group in enumerate(optimizer.param_groups):
        for index, parameter in enumerate(group["params"]):
            seen.add(id(parameter))
            if id(parameter) not in names:
                yield ModuleFinding(
                    "optimizer",
                    f"param_groups[{number}]['params'][{index}]",
                    f"{list(parameter.shape)}, {dtype_and_device(parameter)}, is not a parameter of "
                    "the module: the parameter was replaced after the optimizer was made. Make the "
                    "optimizer after the move",
                )
    for parameter_id, name in names.items():
        if parameter_id not in seen and module.get_parameter(name).requires_grad:
            message = "requires gradients, but the optimizer does not have it: it never changes"
            yield ModuleFinding("optimizer", name, message)
    yield from _state(names, optimizer)


def _state(names: dict[int, str], optimizer: torch.optim.Optimizer) -> Iterator[ModuleFinding]:
    away: dict[tuple[str, str, str], list[str]] = {}
    for parameter, state in optimizer.state.items():
        if not isinstance(parameter, torch.Tensor) or not isinstance(state, dict):
            continue
        for key, value in state.items():
            # The step counters of most optimizers stay on the CPU.
            if not isinstance(value, torch.Tensor) or not value.dim():
                continue
            if value.device != parameter.device:
                place = (str(key), str(value.device), str(parameter.device))
                away.setdefault(place, []).append(names.get(id(parameter), "a parameter"))
    for (key, device, target), of in away.items():
        yield ModuleFinding(
            "optimizer",
            f"state[{key!r}]",
            f"of {shortened(of)} is on {device}, and the parameters are on {target}: move the "
            f"optimizer, too, with torchport.to(optimizer, {target!r})",
        )


def of_losses(module: nn.Module, losses: tuple[nn.Module, ...]) -> Iterator[ModuleFinding]:
    """Tensors of losses that are on another device than the module."""
    home = home_of(module)
    for loss in losses if home is not None else ():
        for name, tensor in named_tensors(loss):
            if tensor.device != home:
                kind = type(loss).__name__
                yield ModuleFinding(
                    "loss-device",
                    f"{kind}.{name}",
                    f"is on {tensor.device}, the model on {home}: the loss is not part of the "
                    "model and was not moved. Use torchport.follow_input(criterion), or move the "
                    "loss with the model",
                )
