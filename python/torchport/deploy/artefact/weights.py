"""Loads weights from a file into the exported model with torchport.load, and hashes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import torch
from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from torchport.deploy.artefact.errors import ExportError


def load_weights(module: nn.Module, path: str, notes: list[str]) -> None:
    """Loads any checkpoint that torchport.load accepts into ``module``, and removes the prefixes of
    wrappers from its keys.

    The module's tensors are replaced, not written to: they may belong to the caller's model. Raises
    ExportError if keys do not fit, the file is damaged, or it asks for more than tensors; the
    message names all of them.
    """
    from torchport.place import checkpoints

    try:
        found = checkpoints.load_and_report(path, module, remap_prefixes=True)
    except checkpoints.CheckpointError as error:
        raise ExportError(str(error).removeprefix("torchport: ")) from error
    notes += [f"{path}: {what}" for what in found.remapped]
    if found.dtypes:
        notes.append(f"converted {len(found.dtypes)} weights of {path} to the model's dtypes")


def weights_hash(module: nn.Module) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of all parameters and buffers."""
    digest = hashlib.sha256()
    for name, tensor in sorted([*module.named_parameters(), *module.named_buffers()]):
        for part, plain in _plain(name, tensor.detach()):
            digest.update(f"{part} {plain.dtype} {tuple(plain.shape)}\n".encode())
            flat = plain.cpu().contiguous().reshape(-1)
            if flat.numel():
                digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _plain(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensor, or the parts of a tensor subclass by their names."""
    if not is_traceable_wrapper_subclass(tensor):
        yield name, tensor
        return
    for part in tensor.__tensor_flatten__()[0]:
        yield from _plain(f"{name}.{part}", getattr(tensor, part))
