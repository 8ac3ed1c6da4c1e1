"""The dynamic axes of the inputs, and batches of other sizes along them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.sample import Sample

_SPEC = re.compile(r"([\w.]+):(-?\d+)=([A-Za-z_]\w*)(?:\[(\d+)\.\.(\d*)\])?")
_BATCH = re.compile(r"batch(?:\[(\d+)\.\.(\d*)\])?")


@dataclass
class Axis:
    """A dynamic axis, shared by all inputs that have it. ``maximum`` is None without a bound."""

    name: str
    minimum: int = 1
    maximum: int | None = None

    def holds(self, size: int) -> bool:
        return size >= self.minimum and (self.maximum is None or size <= self.maximum)

    def __str__(self) -> str:
        return f"{self.name} {self.minimum}..{'' if self.maximum is None else self.maximum}"


class Axes:
    """The dynamic axes of a call; ``of`` maps each input's name to its axes by dimension."""

    def __init__(self, sample: Sample, wanted: Sequence[str] | Mapping[str, Mapping[int, str]]):
        """``wanted`` is a list of "batch" (axis 0 of every input that has one), "name:axis=label"
        and "name:axis=label[minimum..maximum]", or it is a mapping {"name": {axis: "label"}}. A list
        of only "none" is empty.

        Raises ExportError for an input or an axis that does not exist.
        """
        self.axes: dict[str, Axis] = {}
        self.of: dict[str, dict[int, Axis]] = {}
        tensors = dict(sample.items())
        if isinstance(wanted, Mapping):
            wanted = [
                f"{name}:{axis}={label}"
                for name, of in wanted.items()
                for axis, label in of.items()
            ]
        for spec in () if list(wanted) == ["none"] else wanted:
            if match := _BATCH.fullmatch(spec):
                for name, tensor in tensors.items():
                    if tensor.dim():
                        self._add(name, 0, "batch", *match.groups())
                continue
            match = _SPEC.fullmatch(spec)
            if match is None:
                raise ExportError(
                    f"--dynamic {spec!r} is not one of: batch, NAME:AXIS=LABEL, "
                    "NAME:AXIS=LABEL[2..512], or none alone"
                )
            name, axis, label, low, high = match.groups()
            if name not in tensors:
                raise ExportError(
                    f"--dynamic {spec!r}: no input is named {name!r}; the inputs are "
                    f"{', '.join(tensors)}"
                )
            rank = tensors[name].dim()
            if not -rank <= int(axis) < rank:
                raise ExportError(
                    f"--dynamic {spec!r}: the input {name} has {rank} dimensions; "
                    "the first axis is 0"
                )
            self._add(name, int(axis) % rank, label, low, high)

    @staticmethod
    def of_batch(sample: Sample) -> tuple[Axes, str]:
        """The batch: axis 0 of all inputs, if they have the same size there. Otherwise no axis, and
        the reason."""
        sizes = {name: tensor.shape[0] for name, tensor in sample.items() if tensor.dim()}
        if len(set(sizes.values())) == 1:
            return Axes(sample, ["batch"]), ""
        if not sizes:
            return Axes(sample, []), "no input has an axis"
        each = ", ".join(f"{name} {size}" for name, size in sizes.items())
        return Axes(sample, []), (
            f"axis 0 of the inputs has different sizes ({each}); --dynamic {next(iter(sizes))}:0=LABEL "
            "makes one axis dynamic"
        )

    def _add(self, name: str, axis: int, label: str, low: str | None, high: str | None) -> None:
        shared = self.axes.setdefault(label, Axis(label))
        if low is not None:
            shared.minimum = max(int(low), 1)
            shared.maximum = int(high) if high else None
        self.of.setdefault(name, {})[axis] = shared

    def __bool__(self) -> bool:
        return bool(self.axes)

    def dynamic_shapes(self, sample: Sample) -> Any:
        """The argument dynamic_shapes of torch.export, with one Dim for each axis."""
        if not self.axes:
            return None
        dims = {
            name: torch.export.Dim(name, min=axis.minimum, max=axis.maximum)
            for name, axis in self.axes.items()
        }
        return self.spread(sample, lambda axis: dims[axis.name])

    def labels(self, sample: Sample) -> Any:
        """Like `dynamic_shapes`, but with labels instead of Dims, for torch.onnx."""
        return self.spread(sample, lambda axis: axis.name) if self.axes else None

    def spread(self, sample: Sample, value: Any) -> Any:
        args, kwargs = sample.spread(
            lambda name, _: {at: value(axis) for at, axis in self.of.get(name, {}).items()}
        )
        # torch.export takes a tuple, or a dict by parameter if some arguments are named.
        return {**dict(zip(sample.positional, args, strict=True)), **kwargs} if kwargs else args

    def sizes(self, sample: Sample) -> dict[str, int]:
        """The size of each axis in a call. Raises ExportError if inputs disagree."""
        sizes: dict[str, tuple[int, str]] = {}
        for name, tensor in sample.items():
            for at, axis in self.of.get(name, {}).items():
                size, first = sizes.setdefault(axis.name, (tensor.shape[at], name))
                if size != tensor.shape[at]:
                    raise ExportError(
                        f"axis {axis.name} has size {size} in {first} and {tensor.shape[at]} in "
                        f"{name}: give the two axes different labels, or inputs of equal size"
                    )
        return {name: size for name, (size, _) in sizes.items()}

    def resized(self, sample: Sample, sizes: Mapping[str, int]) -> Sample:
        """The call with its tensors cut or repeated, so that its axes have these sizes."""

        def change(name: str, tensor: torch.Tensor) -> torch.Tensor:
            for at, axis in self.of.get(name, {}).items():
                size = sizes.get(axis.name, tensor.shape[at])
                if size != tensor.shape[at]:
                    index = torch.arange(size, device=tensor.device) % tensor.shape[at]
                    tensor = tensor.index_select(at, index)
            return tensor

        return sample.map(change)
