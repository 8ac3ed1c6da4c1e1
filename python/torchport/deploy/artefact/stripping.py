"""Removes the wrappers that training put around a model."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from torchport._walk import tensors_in
from torchport.deploy.artefact.errors import ExportError
from torchport.place.unwrapping import inner_of


def strip_wrappers(module: nn.Module, notes: list[str]) -> nn.Module:
    """Removes DataParallel, DistributedDataParallel, AveragedModel and torch.compile from the model
    and its children, and the forward methods that apex and accelerate set on instances.

    Raises ExportError for a sharded model, of which this process has only a part.
    """
    _refuse_sharded(module)
    while (inner := inner_of(module)) is not None:
        notes.append(f"unwrapped {type(module).__name__}")
        module = inner
    vars(module).pop("_compiled_call_impl", None)  # module.compile() sets it
    _own_forward(module, notes)
    for name, child in list(module.named_children()):
        bare = strip_wrappers(child, notes)
        if bare is not child:
            setattr(module, name, bare)
    return module


def _refuse_sharded(module: nn.Module) -> None:
    kinds = {kind.__name__ for kind in type(module).__mro__}
    if kinds & {"FullyShardedDataParallel", "FSDPModule"} or any(
        type(parameter).__name__ == "DTensor" for parameter in module.parameters(recurse=False)
    ):
        raise ExportError(
            f"the model is sharded ({type(module).__name__}), so this process has only a part of "
            "it: gather it with torchport.full_state_dict(model), and load the result into an "
            "unsharded model"
        )


def _own_forward(module: nn.Module, notes: list[str]) -> None:
    forward = vars(module).get("forward")
    if forward is None:
        return
    original = vars(module).get("_original_forward")  # accelerate sets it
    owner = getattr(forward, "__module__", None) or ""
    code = getattr(forward, "__code__", None)
    if original is not None:
        del module.forward
        if getattr(original, "__func__", None) is not type(module).forward:
            module.forward = original
        notes.append(f"removed accelerate's forward from {type(module).__name__}")
    elif owner.split(".")[0] == "apex" or (code and "/apex/" in code.co_filename):
        del module.forward
        notes.append(f"removed apex's forward from {type(module).__name__}")


def structural_copy(module: nn.Module) -> nn.Module:
    """A copy of the modules that shares all tensors with the original.

    Raises ExportError for a model that cannot be copied.
    """
    for child in module.modules():
        _refuse_sharded(child)
    memo: dict[int, Any] = {id(tensor): tensor for tensor in tensors_in(module)}
    # deepcopy of compiled TorchScript makes other tensors of its parameters, with a history.
    memo |= {id(one): one for one in module.modules() if isinstance(one, torch.jit.ScriptModule)}
    try:
        return copy.deepcopy(module, memo)
    except Exception as error:
        raise ExportError(
            f"the model cannot be copied ({type(error).__name__}: {error}), and an export must not "
            "change the given one: pass a function that makes the model instead"
        ) from error
