"""Makes the batches on which an artefact is compared with its model, from one sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.size_limits import Limits

Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]

# A batch at the edge of an axis is made if an input has at most so many elements there, or so many
# times those of the sample.
_MOST_ELEMENTS = 1 << 22
_MOST_TIMES = 64
# Sizes at which models choose another way, or need another window: just above powers of two. Each axis without a
# maximum is compared there, if the model accepts it.
_FAR_SIZES = (33, 129)
_MOST_FAR_AXES = 3
# What a float mask adds where it hides something is at most this.
_HIDDEN = -1e4


@dataclass(frozen=True)
class Batch:
    """Inputs of one comparison. ``kind`` says how they were made: "sample", "negated", "batch=1".

    The user gave a ``given`` batch. The model need not accept a batch with made-up ``values``; it
    must accept one with another size of a dynamic axis.
    """

    kind: str
    sample: Sample
    given: bool = False
    sized: bool = False


def parity_batches(
    sample: Sample, axes: Axes, more: Sequence[Sample] = ()
) -> tuple[list[Batch], list[str]]:
    """Returns the sample, the samples in ``more``, variations of the sample's values, and other
    sizes along dynamic axes, among them the ends of each axis. The second list names ends of axes
    that are too large to be compared.
    """
    batches = [Batch("sample", sample, given=True)]
    batches += [Batch("given", one, given=True) for one in more]
    chance = torch.Generator().manual_seed(0)
    for kind, change in _CHANGES.items():
        other = _changed(sample, change, chance)
        if not any(_same(other, batch.sample) for batch in batches):
            batches.append(Batch(kind, other))
    too_large = []
    for sizes in _other_sizes(axes, axes.sizes(sample)):
        kind = ", ".join(f"{name}={size}" for name, size in sizes.items())
        if _elements(sample, axes, sizes) > _limit(sample):
            too_large.append(kind)
            continue
        other = _changed(axes.resized(sample, sizes), _other_values, chance)
        batches.append(Batch(kind, other, sized=True))
    for sizes in _far_sizes(axes, axes.sizes(sample)):
        if _elements(sample, axes, sizes) <= _limit(sample):
            kind = ", ".join(f"{name}={size}" for name, size in sizes.items())
            batches.append(
                Batch(kind, _changed(axes.resized(sample, sizes), _other_values, chance))
            )
    return batches, too_large


@dataclass(frozen=True)
class Budget:
    """What trying further sizes may cost: seconds of one run of the sample, and of all further runs together."""

    of_sample: float
    whole: float = 60.0


def limit_batches(
    sample: Sample, axes: Axes, limits: Limits, tried: Sequence[Batch], budget: Budget
) -> tuple[list[Batch], list[str]]:
    """Sizes on both sides of each number that the model's code compares with. Where one would take too much, the axis
    ends before it, and the second list says so."""
    chance = torch.Generator().manual_seed(0)
    here = axes.sizes(sample)
    known = [axes.sizes(batch.sample) for batch in tried]
    batches: list[Batch] = []
    notes: list[str] = []
    usual = max(_elements(sample, axes, here), 1)
    left = budget.whole
    for number in sorted(limits.numbers):
        for name, axis in axes.axes.items():
            for size in (number - 1, number, number + 1):
                sizes = here | {name: size}
                if not axis.holds(size) or sizes in known:
                    continue
                elements = _elements(sample, axes, sizes)
                cost = 2 * budget.of_sample * max(elements / usual, 1)
                if elements > _limit(sample) or cost > left:
                    axis.maximum = max(size - 1, here[name])
                    notes.append(
                        f"axis {name} is at most {axis.maximum}: {limits.numbers[number]} compares with "
                        f"{number}, and larger sizes take too much to be tried"
                    )
                    break
                left -= cost
                known.append(sizes)
                other = _changed(axes.resized(sample, sizes), _other_values, chance)
                batches.append(Batch(f"{name}={size}", other))
    for name, axis in axes.axes.items() if limits.unknown else ():
        most = max(sizes[name] for sizes in known)
        if axis.maximum is None or axis.maximum > most:
            axis.maximum = most
            notes.append(
                f"axis {name} is at most {most}, the largest size that was compared: "
                f"{limits.unknown[0]} does with a size what is not known"
            )
    return batches, notes


def other_inputs(sample: Sample) -> Sample:
    """The call with other values."""
    return _changed(sample, _other_values, torch.Generator().manual_seed(0))


def larger_inputs(sample: Sample) -> Sample:
    """The call with larger floating values: a model may keep the largest that it saw."""
    return _changed(sample, _large, torch.Generator().manual_seed(0))


def _other_sizes(axes: Axes, here: dict[str, int]) -> Iterator[dict[str, int]]:
    """Sizes of all axes: small, odd and larger ones, all and each of them at their ends."""
    changes = (lambda size: 1, lambda size: size + 1, lambda size: 2 * size + 1)
    wanted = [
        {name: _within(axes, name, change(size)) for name, size in here.items()}
        for change in changes
    ]
    highest = {name: axis.maximum for name, axis in axes.axes.items() if axis.maximum}
    wanted.append({name: highest.get(name, size) for name, size in here.items()})
    if len(here) > 1:
        wanted += [here | {name: axes.axes[name].minimum} for name in here]
        wanted += [here | {name: maximum} for name, maximum in highest.items() if name in here]
    seen = [here]
    for sizes in wanted:
        if sizes not in seen:
            seen.append(sizes)
            yield sizes


def _far_sizes(axes: Axes, here: dict[str, int]) -> Iterator[dict[str, int]]:
    """Sizes far from the sample's, of one axis at a time."""
    for name in [name for name in here if not axes.axes[name].maximum][:_MOST_FAR_AXES]:
        for size in _FAR_SIZES:
            if size > 2 * here[name] + 1 and size >= axes.axes[name].minimum:
                yield here | {name: size}


def _within(axes: Axes, name: str, size: int) -> int:
    axis = axes.axes[name]
    return min(max(size, axis.minimum), axis.maximum or 1 << 62)


def _elements(sample: Sample, axes: Axes, sizes: dict[str, int]) -> int:
    """The number of elements that the largest input would have with these sizes."""
    most = 0
    for name, tensor in sample.items():
        shape = list(tensor.shape)
        for at, axis in axes.of.get(name, {}).items():
            shape[at] = sizes.get(axis.name, shape[at])
        most = max(most, torch.Size(shape).numel())
    return most


def _limit(sample: Sample) -> int:
    return max(_MOST_ELEMENTS, _MOST_TIMES * max(t.numel() for t in sample.tensors))


def _same(one: Sample, other: Sample) -> bool:
    return all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)
        for a, b in zip(one.tensors, other.tensors, strict=True)
    )


def _changed(sample: Sample, change: Change, chance: torch.Generator) -> Sample:
    def of_tensor(_: str, tensor: torch.Tensor) -> torch.Tensor:
        values = tensor.detach().cpu()
        if values.numel() == 0:
            return tensor
        made = _rows_permuted(values, chance) if _is_mask(values) else change(values, chance)
        return made.to(device=tensor.device, dtype=tensor.dtype)

    return sample.map(of_tensor)


def _is_mask(values: torch.Tensor) -> bool:
    """Whether a tensor chooses elements: it is boolean, has only zeros and ones, or is a float mask
    of an attention. Masks only get their rows in another order: runtimes differ in what they
    compute for masks that no program makes.
    """
    if values.dtype == torch.bool:
        return True
    if values.is_complex():
        return False
    if values.is_floating_point() and bool((values <= _HIDDEN).any()):
        return True
    return values.dim() > 0 and set(values.unique()[:3].tolist()) == {0, 1}


def _rows_permuted(values: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    if not values.dim():
        return values
    return values[torch.randperm(values.shape[0], generator=chance)]


def _is_real(values: torch.Tensor) -> bool:
    return values.is_floating_point() or values.is_complex()


def _other_values(values: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """Random values with the mean and the deviation of the sample; of integers, which may be token
    ids, values that occur in the sample."""
    if not _is_real(values):
        picked = torch.randint(values.numel(), (values.numel(),), generator=chance)
        return values.reshape(-1)[picked].reshape(values.shape)
    wide = values.to(torch.complex128 if values.is_complex() else torch.float64)
    deviation = float(wide.std()) if values.numel() > 1 else 0.0
    if not deviation > 0:  # a sample of torch.ones says nothing about its values
        deviation = max(float(wide.abs().max()), 1.0)
    drawn = torch.randn(values.shape, generator=chance, dtype=wide.dtype)
    return drawn * deviation + wide.mean()


def _negated(values: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return -values if _is_real(values) else values


def _small(values: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return values * 1e-3 if _is_real(values) else values


def _large(values: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    if not _is_real(values):
        return values
    if values.is_complex():
        return values * 1e3
    most = torch.finfo(values.dtype).max / 8
    return (values.double() * 1e3).clamp(-most, most)


def _zero(values: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return torch.zeros_like(values) if _is_real(values) else values


def _constant(values: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    if values.is_complex():
        return values.mean().expand(values.shape)
    fill = values.double().mean() if values.is_floating_point() else values.min()
    return fill.expand(values.shape)


def _extreme(values: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    """The smallest and the largest value of the sample in turn."""
    if values.is_complex() or (values.dim() < 2 and not values.is_floating_point()):
        return values  # lengths and offsets stay in their order
    turn = torch.arange(values.numel()).reshape(values.shape) % 2 == 0
    return torch.where(turn, values.min(), values.max())


def _permuted(values: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    order = torch.randperm(values.numel(), generator=chance)
    return values.reshape(-1)[order].reshape(values.shape)


_CHANGES: dict[str, Change] = {
    "other values": _other_values,
    "negated": _negated,
    "small": _small,
    "large": _large,
    "zero": _zero,
    "constant": _constant,
    "extreme": _extreme,
    "permuted": _permuted,
}
