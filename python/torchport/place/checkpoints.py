"""Checkpoints: saved from any device and loaded onto any, without running code in them."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchport._native.checkpoints import LoadReport as LoadReport
from torchport._native.checkpoints import plan_load
from torchport.place import policy
from torchport.place.reading import CheckpointError as CheckpointError
from torchport.place.reading import Named, StateDict, load_object, state_dict_of

_LOG = logging.getLogger("torchport")


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
            it has non-persistent buffers, which a checkpoint does not contain. A function that reads
            values of tensors is called without the meta device. By default the saved object is
            returned.
        device: The target, as in `device`. The default is the device of the module, or the
            program's own device without a module.
        key: The name of one state dict, such as "model", if the file has several. Without it the
            only one that fits is taken.
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
        return load_object(path, _device(device), mmap, key)
    module = into if isinstance(into, torch.nn.Module) else _made(into)
    here = device is None and module is into
    target = _device_of(module) if here else _device(device)
    found = state_dict_of(path, target, key, mmap, _reporter(module, remap_prefixes))
    _fill(module, found, path, strict, remap_prefixes, dtype)
    if module is not into:
        _compute_what_no_file_has(module, into, target)
    return module.to(target)


def load_and_report(path: str, module: torch.nn.Module, *, remap_prefixes: bool) -> LoadReport:
    """Loads into ``module`` in place, as `load` does, and returns the same as `load_report`."""
    target = _device_of(module)
    found = state_dict_of(path, target, None, True, _reporter(module, remap_prefixes))
    report: LoadReport = _fill(module, found, path, True, remap_prefixes, None)
    module.to(target)
    return report


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
    report = _reporter(module, remap_prefixes)
    return report(state_dict_of(os.fspath(path), torch.device("cpu"), key, True, report).tensors)


def _device(wanted: str | torch.device | None) -> torch.device:
    return wanted if isinstance(wanted, torch.device) else policy.device(wanted)


def _device_of(module: torch.nn.Module) -> torch.device:
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.device.type != "meta":
            return tensor.device
    return policy.device()


def _reporter(module: torch.nn.Module, remap_prefixes: bool) -> Callable[[Named], LoadReport]:
    """A function that compares tensors with the module."""
    wanted, ties = list(_slots(module).items()), _ties(module)
    return lambda tensors: plan_load(wanted, tensors, remap_prefixes, ties)[1]


def _made(into: Any) -> torch.nn.Module:
    """Makes a module on the meta device if that is possible."""
    try:
        with torch.device("meta"):
            module = into()
    except (RuntimeError, NotImplementedError) as error:
        if "meta" not in str(error).lower():
            raise
        # Swin and ConvNeXt read the values of a torch.linspace for their rates of dropout.
        _LOG.warning(
            "%s reads values of tensors while it is made, so it was made with its initial weights: %s",
            getattr(into, "__name__", into), (str(error).splitlines() or [""])[0],
        )  # fmt: skip
        module = into()
    if not isinstance(module, torch.nn.Module):
        raise TypeError(
            f"torchport: {into!r} made a {type(module).__name__}, which is not a module"
        )
    return module


def _slots(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {
        name: value.detach()
        for name, value in module.state_dict(keep_vars=True).items()
        if isinstance(value, torch.Tensor)
    }


def _fill(
    module: torch.nn.Module,
    found: StateDict,
    path: str,
    strict: bool,
    remap_prefixes: bool,
    dtype: torch.dtype | None,
) -> LoadReport:
    ties = _ties(module)
    wanted = list(_slots(module).items())
    tensors = found.tensors
    pairs, report = plan_load(wanted, tensors, remap_prefixes, ties)
    where = f'{path}, "{found.key}",' if found.key else path
    if strict and not report.complete:
        raise CheckpointError(
            f"torchport: {where} does not fit {type(module).__name__}\n{report}", report
        )
    state = OrderedDict(_other_values(module, found, report, where, strict))
    # Modules read old formats of their weights by the version that wrote them.
    versions = module.state_dict()._metadata  # type: ignore[attr-defined]
    if found.versions is not None and set(found.versions) == set(versions):
        versions = found.versions
    state._metadata = versions  # type: ignore[attr-defined]
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
    return report


def _other_values(
    module: torch.nn.Module, found: StateDict, report: LoadReport, where: str, strict: bool
) -> dict[str, Any]:
    """The values of a state dict that are no tensors: the packed weights of quantized modules, and
    what modules return from ``get_extra_state``. Raises CheckpointError if one is missing.
    """
    wanted = [n for n, v in module.state_dict().items() if not isinstance(v, torch.Tensor)]
    missing = [name for name in wanted if name not in found.others]
    if missing and strict:
        raise CheckpointError(
            f"torchport: {where} does not fit {type(module).__name__}: it has no "
            f"{', '.join(missing[:5])}, which hold more than a tensor",
            report,
        )
    return {name: found.others[name] for name in wanted if name in found.others}


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
