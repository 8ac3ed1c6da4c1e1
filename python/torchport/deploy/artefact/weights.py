"""Loads weights from a file into the exported model with torchport.load, and hashes them."""

from __future__ import annotations

import hashlib

import torch
from torch import nn

from torchport.deploy.artefact.errors import ExportError


def load_weights(module: nn.Module, path: str, notes: list[str]) -> None:
    """Fills ``module`` from any checkpoint that torchport.load takes; prefixes of wrappers come off.

    The module's tensors are replaced, not written to: they may be those of the caller's model.
    Raises ExportError with every key that does not fit, for a file that is damaged, and for one that
    asks for more than tensors, naming what it asks for.
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
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        plain = tensor.detach().cpu().contiguous().reshape(-1)
        if plain.numel():
            digest.update(plain.view(torch.uint8).numpy().data)
    return digest.hexdigest()
