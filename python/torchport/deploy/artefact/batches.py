"""Makes the batches for the comparison of an artefact with its model from one sample."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.sample import Sample


def parity_batches(sample: Sample, axes: Axes, more: Sequence[Sample] = ()) -> list[Sample]:
    """The sample itself, those in ``more``, and others of the sample's kind: other values, and along
    dynamic axes other sizes, 1 among them.
    """
    batches = [sample, *more]
    chance = torch.Generator().manual_seed(0)
    batches.append(_other_values(sample, chance))
    here = axes.sizes(sample)
    for change in (lambda size: 1, lambda size: size + 1, lambda size: 2 * size + 1):
        sizes = {
            name: min(
                max(change(size), axes.axes[name].minimum), axes.axes[name].maximum or 1 << 62
            )
            for name, size in here.items()
        }
        if sizes and all(axes.sizes(batch) != sizes for batch in batches):
            batches.append(_other_values(axes.resized(sample, sizes), chance))
    return batches


def _other_values(sample: Sample, chance: torch.Generator) -> Sample:
    """Floating tensors with the sample's mean and deviation. Others have values out of the sample,
    which stay what they may be: token ids within the vocabulary. Masks, of two values at most, have
    their rows in another order: what is masked as no program does it is computed differently by
    every runtime.
    """

    def change(_: str, tensor: torch.Tensor) -> torch.Tensor:
        values = tensor.detach().cpu()
        if values.is_floating_point() and values.numel() > 1:
            wide = values.double()
            drawn = torch.randn(values.shape, generator=chance, dtype=torch.float64)
            fresh = drawn * wide.std() + wide.mean()
        elif values.dim() and values.unique().numel() <= 2:
            fresh = values[torch.randperm(values.shape[0], generator=chance)]
        else:
            order = torch.randint(values.numel(), (values.numel(),), generator=chance)
            fresh = values.reshape(-1)[order].reshape(values.shape)
        return fresh.to(device=tensor.device, dtype=tensor.dtype)

    return sample.map(change)
