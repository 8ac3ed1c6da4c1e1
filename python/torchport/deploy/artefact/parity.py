"""Compares the results of an artefact with those of its model in eager mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import nn

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.sample import Sample, named_outputs

Runner = Callable[[Sample], list[torch.Tensor]]

# Allowed differences: absolute, and relative to the largest magnitude of the same output. A network
# sums thousands of rounded products, so a small element has no relative precision of its own.
# The values are the epsilon of the dtype times a number of roundings: about a thousand for float32,
# and a few for the 16-bit dtypes, whose sums are computed in float32.
_TOLERANCES = {
    torch.float64: (1e-8, 1e-8),
    torch.float32: (1e-4, 1e-4),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}


@dataclass(frozen=True)
class Tolerance:
    absolute: float
    relative: float

    @staticmethod
    def of(dtype: torch.dtype) -> Tolerance:
        return Tolerance(*_TOLERANCES.get(dtype, _TOLERANCES[torch.float32]))

    def allows(self, difference: float, magnitude: float) -> bool:
        return difference <= self.absolute + self.relative * magnitude


@dataclass
class Difference:
    """The difference of one output on one batch.

    ``top1`` is the share of rows (along the last dimension) with the same largest element. Rows
    whose two largest elements differ by less than the tolerance do not count; None without rows.
    """

    name: str
    absolute: float = 0.0
    magnitude: float = 0.0
    top1: float | None = None
    wrong: str | None = None  # why the output fails the comparison; None if it passes

    @property
    def relative(self) -> float:
        return self.absolute / self.magnitude if self.magnitude else self.absolute


@dataclass
class Parity:
    """The differences over all batches."""

    runtime: str
    tolerance: Tolerance
    batches: list[dict[str, list[int]]] = field(default_factory=list)  # input shapes by batch
    outputs: list[list[list[int]]] = field(default_factory=list)  # output shapes by batch
    absolute: float = 0.0
    relative: float = 0.0
    top1: float | None = None
    findings: list[str] = field(default_factory=list)
    failing: Sample | None = None

    def add(self, sample: Sample, differences: Sequence[Difference]) -> None:
        shapes = {name: list(tensor.shape) for name, tensor in sample.items()}
        self.batches.append(shapes)
        for difference in differences:
            self.absolute = max(self.absolute, difference.absolute)
            self.relative = max(self.relative, difference.relative)
            if difference.top1 is not None:
                self.top1 = min(1.0 if self.top1 is None else self.top1, difference.top1)
            if difference.wrong:
                told = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
                self.findings.append(f"{difference.name} on {told}: {difference.wrong}")
                self.failing = self.failing or sample

    def as_json(self) -> dict[str, Any]:
        return {
            "against": "eager",
            "runtime": self.runtime,
            "batches": self.batches,
            "allowed": asdict(self.tolerance),
            "seen": {"absolute": self.absolute, "relative": self.relative, "top1": self.top1},
        }


def measure(
    module: nn.Module,
    runner: Runner,
    runtime: str,
    batches: Sequence[Sample],
    tolerance: Tolerance,
    allow_nan: bool = False,
) -> Parity:
    """Runs every batch through the model and the artefact, and compares the outputs.

    Raises ExportError if the model itself gives NaN or Inf, unless ``allow_nan`` is set.
    """
    parity = Parity(runtime, tolerance)
    for sample in batches:
        names, expected = eager(module, sample)
        for name, tensor in zip(names, expected, strict=True):
            if not allow_nan and tensor.is_floating_point() and not tensor.isfinite().all():
                raise ExportError(
                    f"the model itself gives NaN or Inf in {name}, so the results cannot be "
                    "compared. Check its weights and the sample, or use allow_nan=True "
                    "(--allow-nan) to compare the other elements"
                )
        parity.outputs.append([list(tensor.shape) for tensor in expected])
        parity.add(sample, compare(names, expected, runner(sample), tolerance))
    return parity


def eager(module: nn.Module, sample: Sample) -> tuple[list[str], list[torch.Tensor]]:
    with torch.no_grad():
        return named_outputs(sample.map(lambda _, tensor: tensor.clone()).call(module))


def compare(
    names: Sequence[str],
    expected: Sequence[torch.Tensor],
    given: Sequence[torch.Tensor],
    tolerance: Tolerance,
) -> list[Difference]:
    if len(expected) != len(given):
        return [
            Difference(
                "outputs", wrong=f"the model has {len(expected)}, the artefact has {len(given)}"
            )
        ]
    return [
        _difference(name, want.detach().cpu(), got.detach().cpu(), tolerance)
        for name, want, got in zip(names, expected, given, strict=True)
    ]


def _difference(
    name: str, want: torch.Tensor, got: torch.Tensor, tolerance: Tolerance
) -> Difference:
    result = Difference(name)
    if want.shape != got.shape:
        result.wrong = f"shape {list(got.shape)}, eager gives {list(want.shape)}"
    elif want.dtype != got.dtype:
        result.wrong = f"{got.dtype}, eager gives {want.dtype}".replace("torch.", "")
    elif want.numel() == 0:
        pass
    elif not (want.is_floating_point() or want.is_complex()):
        unequal = int((want != got).sum())
        result.absolute = float(unequal > 0)
        if unequal:
            result.wrong = f"{unequal} of {want.numel()} elements differ"
    else:
        _floating(result, want, got, tolerance)
    return result


def _floating(
    result: Difference, want: torch.Tensor, got: torch.Tensor, tolerance: Tolerance
) -> None:
    wide = torch.complex128 if want.is_complex() else torch.float64
    want, got = want.to(wide), got.to(wide)
    same = (want == got) | (want.isnan() & got.isnan())  # Inf minus Inf would be NaN
    apart = torch.where(same, 0.0, (want - got).abs())
    if not apart.isfinite().all():
        result.absolute = float("inf")
        result.wrong = f"{int((~apart.isfinite()).sum())} elements are NaN or Inf in only one of the two results"
        return
    finite = want[want.isfinite()]
    result.absolute = float(apart.max())
    result.magnitude = float(finite.abs().max()) if finite.numel() else 0.0
    allowed = tolerance.absolute + tolerance.relative * result.magnitude
    if not want.is_complex() and want.dim() > 1 and want.shape[-1] > 1:
        result.top1 = _top1(want, got, allowed)
    if result.absolute > allowed:
        at = [int(i) for i in torch.unravel_index(apart.argmax(), apart.shape)]
        result.wrong = (
            f"differs by {result.absolute:.3g} at {at}, {result.relative:.3g} of the largest element; "
            f"allowed {allowed:.3g}"
        )


def _top1(want: torch.Tensor, got: torch.Tensor, allowed: float) -> float | None:
    top = want.topk(2, dim=-1).values
    clear = (top[..., 0] - top[..., 1]) > 2 * allowed
    if not clear.any():
        return None
    return float((want.argmax(-1) == got.argmax(-1))[clear].double().mean())
