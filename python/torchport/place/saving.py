"""Saves checkpoints that load on any device, completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from torchport._files import staged, write_text
from torchport._native.checkpoints import save_safetensors
from torchport._native.devices import parse_size
from torchport._walk import walk
from torchport.place import distributed_checkpoints
from torchport.place.moving import to
from torchport.place.unwrapping import full_state_dict, unwrap_model


def save(
    obj: Any,
    path: str | os.PathLike[str],
    *,
    shards: str | int | None = None,
    distributed: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Saves a state dict or any other object, completely or not at all.

    For a module, the state dict is saved without the names that wrappers add (see `unwrap_model`).
    If the module is sharded or split over processes, all of them must call this, and the first one
    writes the whole state dict. Tensors are saved as CPU tensors, so that the file loads on a
    machine without the device.

    Args:
        obj: A module, a state dict, or any object that `torch.save` accepts.
        path: The path to write. ``.safetensors`` selects that format, ``shards`` and
            ``distributed`` write a folder, and everything else uses the format of `torch.save`.
        shards: The largest size of a file, "5GB" or a number of bytes. This writes several
            safetensors files and an index that Hugging Face's libraries can read.
        distributed: Whether each process of the group saves its own part with
            torch.distributed.checkpoint.
        metadata: Strings to store in safetensors files.

    Raises:
        ValueError: The format cannot hold the object, a tensor has no data, or ``shards`` is not a
            size.
        RuntimeError: A safetensors file cannot be written.
        OSError: The file cannot be written.

    Example:
        >>> torchport.save({"weight": torch.ones(2)}, "weights.pt")
        >>> torchport.load("weights.pt", device="cpu")["weight"]
        tensor([1., 1.])
    """
    target = os.fspath(path)
    state = obj
    if isinstance(obj, torch.nn.Module):
        state = _state_of(obj, distributed)
        if state is None:
            return
    if distributed:
        distributed_checkpoints.save(state, target)
    elif shards is not None:
        _save_shards(_tensors(state), Path(target), _bytes(shards), metadata)
    elif target.endswith(".safetensors"):
        save_safetensors(target, _tensors(state), (metadata or {}).items())
    else:
        _check_data(state)
        _torch_save(to(state, torch.device("cpu")), target)


def _state_of(module: torch.nn.Module, distributed: bool) -> dict[str, Any] | None:
    """The module's state dict; None in a process that does not write, because another one does."""
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor

    state = unwrap_model(module).state_dict()
    if distributed:
        return state
    if any(isinstance(value, DTensor) for value in state.values()):
        whole = full_state_dict(module, rank0_only=True)
        return whole if dist.get_rank() == 0 else None
    return full_state_dict(module)


def _tensors(state: Any) -> list[tuple[str, torch.Tensor]]:
    if not isinstance(state, Mapping):
        raise ValueError(
            f"torchport: a safetensors file holds a dict of tensors, not a {type(state).__name__}. "
            "Save a state dict, or choose another file ending to use torch.save's format"
        )
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise ValueError(
                f"torchport: a safetensors file holds tensors by name; {name!r} is a "
                f"{type(value).__name__}. Save only the state dict, or choose another file ending to "
                "use torch.save's format"
            )
    return list(state.items())


def _check_data(state: Any) -> None:
    for found in walk(state, open_modules=True):
        if isinstance(found.value, torch.Tensor) and found.value.is_meta:
            raise ValueError(
                f"torchport: {found.path.lstrip('.') or 'the tensor'} is on the meta device, which has "
                "no data to save"
            )


def _torch_save(state: Any, path: str) -> None:
    with staged(path) as target:
        torch.save(state, target)


def _bytes(size: str | int) -> int:
    number = parse_size(size) if isinstance(size, str) else size
    if number <= 0:
        raise ValueError(
            f"torchport: the shard size {size} is too small to hold anything; use a larger one"
        )
    return number


def _save_shards(
    tensors: list[tuple[str, torch.Tensor]],
    folder: Path,
    most: int,
    metadata: Mapping[str, str] | None,
) -> None:
    """Writes the parts and then the index, so that an index always has all of its parts."""
    parts: list[list[tuple[str, torch.Tensor]]] = [[]]
    # Tensors over the same memory go to the same part, which stores the memory once.
    part_of: dict[tuple[Any, ...], int] = {}
    sizes = [0]
    for name, tensor in tensors:
        identity = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.device)
        known = part_of.get(identity) if tensor.numel() else None
        if known is not None:
            parts[known].append((name, tensor))
            continue
        size = tensor.numel() * tensor.element_size()
        if sizes[-1] + size > most and parts[-1]:
            parts.append([])
            sizes.append(0)
        part_of[identity] = len(parts) - 1
        parts[-1].append((name, tensor))
        sizes[-1] += size
    folder.mkdir(parents=True, exist_ok=True)
    weight_map: dict[str, str] = {}
    for number, part in enumerate(parts, 1):
        file = f"model-{number:05d}-of-{len(parts):05d}.safetensors"
        save_safetensors(str(folder / file), part, (metadata or {}).items())
        weight_map |= {name: file for name, _ in part}
    index = {"metadata": {"total_size": sum(sizes)}, "weight_map": dict(sorted(weight_map.items()))}
    write_text(folder / "model.safetensors.index.json", json.dumps(index, indent=2) + "\n")
