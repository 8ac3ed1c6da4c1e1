"""Checkpoints: saved from any device and loaded onto any, without running code in them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchport._native.checkpoints import LoadReport as LoadReport
from torchport._native.checkpoints import load_tensors, plan_load, summarize
from torchport.place import distributed_checkpoints, policy
from torchport.place.moving import to

_INDEX = ".index.json"
_ARCHIVES = ("TorchScript", "torch.export")  # programs; only their weights are loaded


class CheckpointError(RuntimeError):
    """A checkpoint cannot be loaded or does not fit the module.

    Attributes:
        report: The names that do not fit; None if the file cannot be read at all.
    """

    def __init__(self, message: str, report: LoadReport | None = None) -> None:
        super().__init__(message)
        self.report = report


def load(
    path: str | os.PathLike[str],
    into: torch.nn.Module | Callable[[], torch.nn.Module] | None = None,
    *,
    device: str | torch.device | None = None,
    key: str | None = None,
    strict: bool = True,
    remap_prefixes: bool = False,
    dtype: torch.dtype | None = None,
    mmap: bool = True,
) -> Any:
    """Loads a checkpoint onto ``device``, whatever device it was saved from. It runs no code in it.

    Args:
        path: A file of `torch.save` or safetensors, a folder of safetensors with its index, or a
            folder of `torch.distributed.checkpoint`.
        into: The module to load into, or a function that makes one. The tensors of a module are
            replaced, so that only one copy exists at any time. A function is called under the meta
            device, so that its initial weights are never allocated, and once more on ``device`` if
            it has non-persistent buffers, which a checkpoint does not contain. By default the saved
            object is returned.
        device: The target, as in `device`. The default is the device of the module, or the
            program's own device without a module.
        key: The name of one state dict, such as "model", if the file has several.
        strict: Whether names and shapes must match; if they do not, nothing is changed. If
            false, everything that matches is loaded.
        remap_prefixes: Whether names that do not match are also tried without the prefixes that
            DataParallel, torch.compile, FSDP or a trainer added.
        dtype: The dtype to cast floating-point tensors to. By default they get the dtypes of the
            module.
        mmap: Whether tensors on the CPU use the mapped file until they are written to.

    Returns:
        The module, or the saved object if ``into`` is not given.

    Raises:
        CheckpointError: The file is damaged, asks to run code, or does not fit (then
            ``error.report`` has the names).
        TypeError: ``into`` made something that is not a module.

    Example:
        >>> net = torch.nn.Linear(2, 1)
        >>> torchport.save(net, "net.safetensors")
        >>> same = torchport.load("net.safetensors", into=lambda: torch.nn.Linear(2, 1), device="cpu")
        >>> torch.equal(same.weight, net.weight)
        True
    """
    path = os.fspath(path)
    if into is None:
        return _chosen(_load_object(path, _device(device), mmap), key, path)
    module, rebuilt = _module(into, device)
    target = _device(device) if device is not None or rebuilt else _device_of(module)
    _fill(module, _tensors_of(path, target, key, mmap), path, strict, remap_prefixes, dtype)
    if rebuilt:
        _compute_what_no_file_has(module, into, target)
    return module.to(target)


def load_and_report(path: str, module: torch.nn.Module, *, remap_prefixes: bool) -> LoadReport:
    """Loads into ``module`` in place, as `load` does, and returns the same as `load_report`."""
    target = _device_of(module)
    found: LoadReport = _fill(
        module, _tensors_of(path, target, None, True), path, True, remap_prefixes, None
    )
    module.to(target)
    return found


def load_report(
    path: str | os.PathLike[str],
    module: torch.nn.Module,
    *,
    key: str | None = None,
    remap_prefixes: bool = False,
) -> LoadReport:
    """Compares a checkpoint with a module without changing anything.

    Args:
        path: As in `load`.
        module: The module to compare with.
        key: As in `load`.
        remap_prefixes: As in `load`.

    Returns:
        An object with ``missing`` and ``unexpected`` (names), ``shapes`` and ``dtypes``
        (mismatches, with ``name``, ``wanted`` and ``given``), ``remapped`` (changes of names),
        ``hint`` (the option that makes more names match) and ``complete``. Its text is a short
        summary.

    Raises:
        CheckpointError: The file is damaged or asks to run code.

    Example:
        >>> torchport.save({"weight": torch.ones(3, 2)}, "part.safetensors")
        >>> torchport.load_report("part.safetensors", torch.nn.Linear(2, 3)).missing
        ['bias']
    """
    given = _tensors_of(os.fspath(path), torch.device("cpu"), key, True)
    return plan_load(_slots(module).items(), given, remap_prefixes, _ties(module))[1]


def _device(wanted: str | torch.device | None) -> torch.device:
    return wanted if isinstance(wanted, torch.device) else policy.device(wanted)


def _device_of(module: torch.nn.Module) -> torch.device:
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.device.type != "meta":
            return tensor.device
    return policy.device()


def _module(into: Any, device: Any) -> tuple[torch.nn.Module, bool]:
    if isinstance(into, torch.nn.Module):
        return into, False
    with torch.device("meta"):
        module = into()
    if not isinstance(module, torch.nn.Module):
        raise TypeError(
            f"torchport: {into!r} made a {type(module).__name__}, which is not a module"
        )
    return module, True


# --- Reading -----------------------------------------------------------------------------------------


def _is_safetensors(path: str) -> bool:
    if os.path.isdir(path):
        return not distributed_checkpoints.is_one(path)
    if path.endswith(_INDEX):
        return True
    with open(path, "rb") as file:
        head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and head[:2] != b"PK"


def _load_object(path: str, device: torch.device, mmap: bool) -> Any:
    try:
        if os.path.isdir(path) and distributed_checkpoints.is_one(path):
            return to(distributed_checkpoints.load(path), device)
        if _is_safetensors(path):
            return dict(load_tensors(path, device, map=mmap)[1])
        return _torch_load(path, device, mmap)
    except OSError as error:
        raise CheckpointError(f"torchport: {path}: {error.strerror or error}") from error
    except RuntimeError as error:
        if isinstance(error, (CheckpointError, torch.OutOfMemoryError)):
            raise
        raise CheckpointError(str(error)) from None


def _torch_load(path: str, device: torch.device, mmap: bool) -> Any:
    found = summarize(path)
    if found.refused:
        raise CheckpointError(
            f"torchport: {path} asks for {', '.join(found.refused)}, which a file of weights does "
            "not need; nothing in it was run. `torchport inspect` shows what the file holds. If you "
            "made it yourself, save the state_dict() instead of the object"
        )
    if found.fault:
        raise CheckpointError(f"torchport: {path} {found.fault}")
    if found.format in _ARCHIVES:
        return dict(load_tensors(path, device, map=mmap)[1])
    mmap = mmap and found.mappable and found.format == "torch.save"
    try:
        return torch.load(path, map_location=device, weights_only=True, mmap=mmap)
    except torch.OutOfMemoryError:
        raise
    except (pickle.UnpicklingError, EOFError, KeyError, ValueError, RuntimeError) as error:
        words = str(error).splitlines() or [type(error).__name__]
        raise CheckpointError(f"torchport: {path} cannot be loaded: {words[0]}") from None


def _chosen(value: Any, key: str | None, path: str) -> Any:
    for part in key.split(".") if key else ():
        if not isinstance(value, Mapping) or part not in value:
            has = (
                f"it has {', '.join(map(str, value))}"
                if isinstance(value, Mapping)
                else "it is not a dict"
            )
            raise CheckpointError(f'torchport: {path} has no "{key}"; {has}')
        value = value[part]
    return value


def _tensors_of(
    path: str, device: torch.device, key: str | None, mmap: bool
) -> list[tuple[str, torch.Tensor]]:
    """The tensors of a state dict, by name."""
    # The object is read as torch reads it: a state dict may also hold extra state.
    state = _chosen(_load_object(path, device, mmap), key, path)
    if isinstance(state, torch.nn.Module):
        state = state.state_dict()
    if not isinstance(state, Mapping):
        raise CheckpointError(f"torchport: {path} holds a {type(state).__name__}, not a state dict")
    tensors = [
        (str(name), value) for name, value in state.items() if isinstance(value, torch.Tensor)
    ]
    if tensors:
        return tensors
    inner = [
        name
        for name, value in state.items()
        if isinstance(value, Mapping)
        and any(isinstance(item, torch.Tensor) for item in value.values())
    ]
    if len(inner) == 1 and key is None:
        return _tensors_of(path, device, str(inner[0]), mmap)
    choices = f"; it has {', '.join(repr(n) for n in inner)}: choose one with key=" if inner else ""
    raise CheckpointError(f"torchport: {path} has no tensors at its top level{choices}")


# --- Filling -----------------------------------------------------------------------------------------


def _slots(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {
        name: value.detach()
        for name, value in module.state_dict(keep_vars=True).items()
        if isinstance(value, torch.Tensor)
    }


def _fill(
    module: torch.nn.Module,
    tensors: list[tuple[str, torch.Tensor]],
    path: str,
    strict: bool,
    remap_prefixes: bool,
    dtype: torch.dtype | None,
) -> Any:
    ties = _ties(module)
    wanted = list(_slots(module).items())
    pairs, found = plan_load(wanted, tensors, remap_prefixes, ties)
    if strict and not found.complete:
        raise CheckpointError(
            f"torchport: {path} does not fit {type(module).__name__}\n{found}", found
        )
    state = {}
    for want, give in pairs:
        name, slot = wanted[want]
        value = tensors[give][1]
        if value.shape != slot.shape:
            continue
        floating = slot.is_floating_point()
        state[name] = value.to(dtype if dtype is not None and floating else slot.dtype)
        tensors[give] = (tensors[give][0], value[:0] if value.ndim else value)
    # load_state_dict(assign=True) breaks ties, so they are restored afterwards.
    module.load_state_dict(state, strict=False, assign=True)
    _tie(module, ties, state)
    return found


def _ties(module: torch.nn.Module) -> list[list[str]]:
    """Groups of names of one parameter. A file needs only one name of each group."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return [group for group in names.values() if len(group) > 1]


def _tie(module: torch.nn.Module, ties: list[list[str]], state: Mapping[str, Any]) -> None:
    for group in ties:
        first = next((name for name in group if name in state), group[0])
        value = module.get_parameter(first)
        for name in group:
            owner, _, attribute = name.rpartition(".")
            module.get_submodule(owner)._parameters[attribute] = value


def _compute_what_no_file_has(
    module: torch.nn.Module, make: Callable[[], torch.nn.Module], device: torch.device
) -> None:
    """Fills non-persistent buffers (position numbers, masks) of a module that has no data yet."""
    empty = [name for name, buffer in module.named_buffers() if buffer.is_meta]
    left = [name for name, parameter in module.named_parameters() if parameter.is_meta]
    if not empty and not left:
        return
    # Only a module that is made on a real device computes their values.
    with torch.device(device):
        real = make()
    for name in [*empty, *left]:
        owner, _, attribute = name.rpartition(".")
        target, source = module.get_submodule(owner), real.get_submodule(owner)
        for table in ("_buffers", "_parameters"):
            if attribute in getattr(target, table):
                getattr(target, table)[attribute] = getattr(source, table)[attribute]
