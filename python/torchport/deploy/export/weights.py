"""Weights out of a file into a model: nothing in the file is run, every key is accounted for."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torchport.deploy.export.errors import ExportError

# Under which training programs keep the model among other things.
_HOLDERS = ("state_dict", "model_state_dict", "model_state", "model", "module", "net", "network")
_WRAPPERS = re.compile(r"(?:(?<=\.)|^)(?:module|_orig_mod|_fsdp_wrapped_module)\.")


def load_weights(module: nn.Module, path: str | Path, notes: list[str]) -> None:
    """Fills ``module`` from a safetensors or torch.save file; prefixes of wrappers are taken off.

    Raises ExportError with every missing, unexpected and mis-shaped key, for a file that is damaged,
    and for a pickle that asks for more than tensors, naming what it asks for.
    """
    path = Path(path)
    state = _state_dict(_read(path), path)
    wanted = module.state_dict()
    renamed = {key: key if key in wanted else _WRAPPERS.sub("", key) for key in state}
    if changed := sum(old != new for old, new in renamed.items()):
        notes.append(f"{path.name}: took the prefixes of wrappers off {changed} keys")
    if len(set(renamed.values())) != len(renamed):
        raise ExportError(f"{path}: two keys are the same without the prefixes of wrappers")
    state = {renamed[key]: value for key, value in state.items()}
    _check_keys(wanted, state, path)
    kinds = {
        f"{value.dtype} to {wanted[key].dtype}".replace("torch.", "")
        for key, value in state.items()
        if key in wanted and value.dtype != wanted[key].dtype
    }
    if kinds:
        notes.append(f"{path.name}: converted weights from {', '.join(sorted(kinds))}")
    module.load_state_dict(state, strict=False)


def weights_hash(module: nn.Module) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of all parameters and buffers."""
    digest = hashlib.sha256()
    for name, tensor in sorted([*module.named_parameters(), *module.named_buffers()]):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        plain = tensor.detach().cpu().contiguous().reshape(-1)
        if plain.numel():
            digest.update(memoryview(plain.view(torch.uint8).numpy()))
    return digest.hexdigest()


def _read(path: Path) -> Any:
    try:
        with open(path, "rb") as file:
            head = file.read(9)
        if len(head) == 9 and head[8:9] == b"{":
            from safetensors.torch import load_file

            return load_file(path)
        return torch.load(path, map_location="cpu", weights_only=True, mmap=head[:2] == b"PK")
    except OSError as error:
        raise ExportError(f"cannot read the weights: {error}") from error
    except pickle.UnpicklingError as error:
        asked = re.search(r"GLOBAL ([\w.]+)", str(error))
        reason = (
            f"it asks for {asked[1]}, which is no part of a state dict, and could run code"
            if asked
            else str(error).split("\n")[0]
        )
        raise ExportError(
            f"{path} was not loaded: {reason}. Save model.state_dict() alone; "
            f"`torchport inspect {path}` shows what the file holds"
        ) from None
    except Exception as error:
        raise ExportError(
            f"{path} is damaged or no file of weights: {str(error).splitlines()[0]}"
        ) from error


def _state_dict(loaded: Any, path: Path) -> dict[str, torch.Tensor]:
    found = loaded
    while isinstance(found, Mapping) and not _is_state(found):
        holder = next((key for key in _HOLDERS if isinstance(found.get(key), Mapping)), None)
        if holder is None:
            break
        found = found[holder]
    if not (isinstance(found, Mapping) and _is_state(found)):
        keys = ", ".join(map(str, list(found)[:8])) if isinstance(found, Mapping) else ""
        raise ExportError(
            f"{path} holds no state dict: at its top is a {type(loaded).__name__}"
            + (f" with {keys}" if keys else "")
        )
    return {key: value for key, value in found.items() if isinstance(value, torch.Tensor)}


def _is_state(found: Mapping) -> bool:
    return bool(found) and all(isinstance(value, torch.Tensor) for value in found.values())


def _check_keys(wanted: Mapping, state: Mapping, path: Path) -> None:
    given = {wanted[key].untyped_storage()._cdata for key in state if key in wanted}
    # A tied weight may be saved once, under either name.
    missing = [
        key
        for key, value in wanted.items()
        if key not in state and value.untyped_storage()._cdata not in given
    ]
    unexpected = [key for key in state if key not in wanted]
    shapes = [
        f"{key} is {list(state[key].shape)}, the model has {list(wanted[key].shape)}"
        for key in state
        if key in wanted and state[key].shape != wanted[key].shape
    ]
    if missing or unexpected or shapes:
        lines = [f"the weights of {path} do not fit the model:"]
        for what, keys in (("missing", missing), ("unexpected", unexpected), ("shape", shapes)):
            lines += [f"  {what}: {key}" for key in keys[:20]]
            if len(keys) > 20:
                lines.append(f"  {what}: {len(keys) - 20} more")
        raise ExportError("\n".join(lines))
