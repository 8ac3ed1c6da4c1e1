"""The same arguments on another device: bytes, strides and shared memory kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass
class Mover:
    """Copies arguments to a device. What shares memory before shares it after; what is the same
    tensor is the same tensor. Never the memory of the original, on the CPU either."""

    device: str
    storages: dict[int, torch.Tensor] = field(default_factory=dict)
    tensors: dict[int, torch.Tensor] = field(default_factory=dict)
    leaves: list[torch.Tensor] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)  # so that no id is used twice

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.utils.data.IterableDataset):
            return value
        return pytree.tree_map(self._one, value)

    def _one(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not value.is_meta:
            if id(value) not in self.tensors:
                self.kept.append(value)
                moved = self._tensor(value.detach()).requires_grad_(value.requires_grad)
                self.tensors[id(value)] = moved
                self.leaves.append(moved)
            return self.tensors[id(value)]
        if isinstance(value, torch.device):
            return torch.device(self.device)
        if isinstance(value, str) and re.fullmatch(r"(cpu|cuda)(:\d+)?", value):
            return self.device
        if isinstance(value, torch.Generator):
            return torch.Generator(self.device).manual_seed(value.initial_seed())
        return value

    def _tensor(self, value: torch.Tensor) -> torch.Tensor:
        if value.device.type != "cpu":  # some samples look for another device themselves
            return self._tensor(value.cpu())
        if value.layout != torch.strided or value.is_nested or value.is_quantized:
            return value.clone().to(self.device)
        if value.is_conj():
            return self._tensor(value.conj()).conj()
        if value.is_neg():
            return torch._neg_view(self._tensor(torch._neg_view(value)))
        storage = value.untyped_storage()
        if storage._cdata not in self.storages:
            self.kept.append(storage)
            flat = torch.empty(0, dtype=torch.uint8).set_(storage)
            self.storages[storage._cdata] = flat.clone().to(self.device)
        moved = self.storages[storage._cdata].untyped_storage()
        like = torch.empty(0, dtype=value.dtype, device=self.device)
        return like.set_(moved, value.storage_offset(), value.size(), value.stride())


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
