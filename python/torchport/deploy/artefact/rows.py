"""Finds whether a model computes each row of a batch alone: only then may a batch be cut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import nn

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.batches import other_inputs
from torchport.deploy.artefact.parity import eager
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.tolerance import Tolerance


def rows_are_independent(
    module: nn.Module, sample: Sample, axes: Axes, tolerance: Tolerance
) -> bool | None:
    """Whether the model gives for each row along axis 0 of the inputs what it gives for that row in
    a batch. None if that is not known: the inputs have no common axis 0, or the model does not accept
    other sizes of it.
    """
    cut = axes if any(0 in of for of in axes.of.values()) else Axes.of_batch(sample)[0]
    labels = {of[0].name for of in cut.of.values() if 0 in of}
    if len(labels) != 1 or not cut.sizes(sample).get(label := labels.pop()):
        return None
    size = max(cut.sizes(sample)[label], 3)
    cut_names = {name for name, of in cut.of.items() if 0 in of}
    batch = other_inputs(cut.resized(sample, {label: size}))
    try:
        # Also with a first row that differs from the others: a model may branch on a sum of all.
        for one in (batch, batch.map(partial(_first_negated, cut_names))):
            whole = eager(module, one)[1]
            for rows in (slice(0, 1), slice(1, size)):
                part = one.map(partial(_rows_of, cut_names, rows))
                if not _is_part(whole, eager(module, part)[1], rows, size, tolerance):
                    return False
    except Exception:  # the model does not accept the size
        return None
    return True


def _rows_of(cut: set[str], rows: slice, name: str, tensor: torch.Tensor) -> torch.Tensor:
    return tensor[rows] if name in cut else tensor


def _first_negated(cut: set[str], name: str, tensor: torch.Tensor) -> torch.Tensor:
    if name not in cut or not tensor.is_floating_point():
        return tensor
    return torch.cat([-tensor[:1], tensor[1:]])


def _is_part(
    whole: Sequence[torch.Tensor],
    part: Sequence[torch.Tensor],
    rows: slice,
    size: int,
    tolerance: Tolerance,
) -> bool:
    if len(whole) != len(part):
        return False
    for all_rows, some in zip(whole, part, strict=True):
        wanted = all_rows[rows] if all_rows.dim() and all_rows.shape[0] == size else all_rows
        if wanted.shape != some.shape:
            return False
        wide = torch.complex128 if some.is_complex() else torch.float64
        apart = (wanted.to(wide) - some.to(wide)).abs()
        magnitude = float(wanted.to(wide).abs().max()) if wanted.numel() else 0.0
        if wanted.numel() and not tolerance.allows(float(apart.nan_to_num().max()), magnitude):
            return False
    return True
