"""Makes the batches on which an artefact is compared with its model, from one sample."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.sample import Sample


def parity_batches(sample: Sample, axes: Axes, more: Sequence[Sample] = ()) -> list[Sample]:
    """Returns the sample, the samples in ``more``, and variations of the sample: with other values,
    and with other sizes along dynamic axes, including size 1.
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
    """Returns a sample of the same shapes with other values.

    Floating-point tensors get random values with the mean and the deviation of the sample. Other
    tensors get values that occur in the sample, so that they stay valid (token ids within the
    vocabulary). Masks, which have at most two values, only get another order of rows: runtimes
    differ in what they compute for masks that no program makes.
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
