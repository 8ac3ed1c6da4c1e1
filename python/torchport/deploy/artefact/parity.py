"""Compares the results of an artefact with those of its model in eager mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torchport.deploy.artefact.batches import Batch
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.sample import Sample, named_outputs
from torchport.deploy.artefact.sensitivity import rounded_results
from torchport.deploy.artefact.state import kept, own_random_numbers
from torchport.deploy.artefact.tolerance import Tolerance, of_columns, of_elements
from torchport.deploy.artefact.user_lines import line_of_error

Runner = Callable[[Sample], list[torch.Tensor]]

# The few draws of roundings do not show the largest change of each element.
_TIMES_ROUNDED = 16.0


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
    # Why it seems to fail by the scale of its own or of one of its columns, though the absolute allowance passes.
    in_column: str | None = None
    rounding: float = 0.0  # what roundings of usual results explain

    @property
    def relative(self) -> float:
        return self.absolute / self.magnitude if self.magnitude else self.absolute


@dataclass
class Parity:
    """The differences over all batches.

    ``skipped`` has, by kind of batch, why made-up inputs were not compared. ``sensitive`` has the
    kinds whose difference is not larger than what rounding does to the model itself.
    """

    runtime: str
    tolerance: Tolerance
    batches: list[dict[str, list[int]]] = field(default_factory=list)  # input shapes by batch
    kinds: list[str] = field(default_factory=list)
    outputs: list[list[list[int]]] = field(default_factory=list)  # output shapes by batch
    absolute: float = 0.0
    relative: float = 0.0
    top1: float | None = None
    findings: list[str] = field(default_factory=list)
    failing: Sample | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    sensitive: list[str] = field(default_factory=list)

    def add(self, batch: Batch, differences: Sequence[Difference]) -> None:
        for difference in differences:
            self.absolute = max(self.absolute, difference.absolute)
            self.relative = max(self.relative, difference.relative)
            if difference.top1 is not None:
                self.top1 = min(1.0 if self.top1 is None else self.top1, difference.top1)
            if difference.wrong:
                self.findings.append(f"{difference.name} on {_told(batch)}: {difference.wrong}")
                self.failing = self.failing or batch.sample

    def as_json(self) -> dict[str, Any]:
        return {
            "against": "eager",
            "runtime": self.runtime,
            "batches": self.batches,
            "kinds": self.kinds,
            "skipped": self.skipped,
            "sensitive": self.sensitive,
            "allowed": {
                "absolute": self.tolerance.absolute,
                "relative": self.tolerance.relative,
            },
            "seen": {"absolute": self.absolute, "relative": self.relative, "top1": self.top1},
        }


def measure(
    module: nn.Module,
    runner: Runner,
    runtime: str,
    batches: Sequence[Batch],
    tolerance: Tolerance,
    allow_nan: bool = False,
) -> Parity:
    """Runs every batch through the model and the artefact, and compares the outputs.

    Made-up values that the model itself does not accept are skipped. Raises ExportError if the
    model fails on a given batch or for a size of a dynamic axis, if the artefact fails, and if the
    model gives NaN or Inf there, unless ``allow_nan`` is set.
    """
    parity = Parity(runtime, tolerance)
    usual: list[float] = []  # the magnitudes of the results on given inputs
    for batch in batches:
        try:
            names, expected = _expected(module, batch, allow_nan)
        except _Skipped as skipped:
            parity.skipped[batch.kind] = str(skipped)
            continue
        with own_random_numbers(module):  # those that the model has drawn
            given = _run(runner, batch)
        if batch.given:
            usual = _larger(usual, [_magnitude(tensor) for tensor in expected])
        differences = compare(names, expected, given, tolerance, usual)
        _judge_columns(module, batch.sample, expected, given, differences, tolerance)
        parity.batches.append({name: list(t.shape) for name, t in batch.sample.items()})
        parity.kinds.append(batch.kind)
        parity.outputs.append([list(tensor.shape) for tensor in expected])
        if not batch.given and _is_sensitive(
            module, batch.sample, expected, given, differences, tolerance
        ):
            parity.sensitive.append(batch.kind)
            continue
        parity.add(batch, differences)
    return parity


class _Skipped(Exception):
    """The model does not accept made-up inputs; the message says why."""


def _expected(
    module: nn.Module, batch: Batch, allow_nan: bool
) -> tuple[list[str], list[torch.Tensor]]:
    must_run = batch.given or batch.sized
    try:
        names, expected = eager(module, batch.sample)
    except ExportError:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {(str(error).strip() or '-').splitlines()[0]}"
        if not must_run:
            raise _Skipped(f"the model raises {words}") from error
        advice = ""
        if batch.sized:
            advice = "\nGive the range of sizes: --dynamic 'NAME:AXIS=LABEL[2..512]'"
        line = line_of_error(error.__traceback__)
        raise ExportError(
            f"the model itself fails on {_told(batch)}{f', at {line}' if line else ''}:\n"
            f"  {words}{advice}"
        ) from error
    for name, tensor in zip(names, expected, strict=True):
        if not allow_nan and tensor.is_floating_point() and not tensor.isfinite().all():
            if not must_run:
                raise _Skipped(f"the model gives NaN or Inf in {name}")
            raise ExportError(
                f"the model itself gives NaN or Inf in {name}, so the results cannot be "
                "compared. Check its weights and the sample, or use allow_nan=True "
                "(--allow-nan) to compare the other elements"
            )
    return names, expected


def _run(runner: Runner, batch: Batch) -> list[torch.Tensor]:
    try:
        return runner(batch.sample.copy())
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"the artefact fails on {_told(batch)}, and the model does not: {type(error).__name__}: "
            f"{(str(error).strip() or '-').splitlines()[0]}"
        ) from error


def _told(batch: Batch) -> str:
    shapes = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in batch.sample.items())
    return shapes if batch.given or batch.sized else f"{shapes} ({batch.kind})"


def _rounded(module: nn.Module, sample: Sample) -> list[list[torch.Tensor]] | None:
    """The model's results if its inputs and parameters are rounded otherwise; None if it fails then."""
    try:
        return rounded_results(module, sample)
    except Exception:
        return None


def _is_sensitive(
    module: nn.Module,
    sample: Sample,
    expected: Sequence[torch.Tensor],
    given: Sequence[torch.Tensor],
    differences: Sequence[Difference],
    tolerance: Tolerance,
) -> bool:
    """Whether the artefact's results differ too much, but no more than the model's own change if
    its inputs and parameters are rounded otherwise. `_judge_columns` has asked that of columns."""
    wrong = [one for one in differences if one.wrong]
    if len(expected) != len(given) or not wrong or any(one.in_column for one in wrong):
        return False
    rounded = _rounded(module, sample)
    return rounded is not None and all(
        _is_within(want.cpu(), got.cpu(), [result[at].cpu() for result in rounded], tolerance)
        for at, (want, got) in enumerate(zip(expected, given, strict=True))
        if differences[at].wrong
    )


def _judge_columns(
    module: nn.Module,
    sample: Sample,
    expected: Sequence[torch.Tensor],
    given: Sequence[torch.Tensor],
    differences: Sequence[Difference],
    tolerance: Tolerance,
) -> None:
    """What differs by more than its own scale allows is wrong, unless rounding does that to the model."""
    if all(one.wrong or not one.in_column for one in differences):
        return
    rounded = _rounded(module, sample)
    if rounded is None:
        return
    for at, (one, want, got) in enumerate(zip(differences, expected, given, strict=True)):
        if one.wrong or not one.in_column:
            continue
        others = [_wide(result[at].cpu()) for result in rounded]
        want, got = _wide(want.cpu()), _wide(got.cpu())
        if any(other.shape != want.shape for other in others):
            continue
        apart = torch.stack([(other - want).abs() for other in others]).amax(0)
        spread = of_columns(apart.nan_to_num(0.0, torch.inf))
        beyond = (want - got).abs() > (
            of_elements(want, tolerance) + one.rounding + _TIMES_ROUNDED * spread
        )
        if bool(beyond.any()):
            one.wrong = one.in_column


def _is_within(
    want: torch.Tensor, got: torch.Tensor, rounded: Sequence[torch.Tensor], tolerance: Tolerance
) -> bool:
    if want.dtype != got.dtype:
        return False
    if want.shape != got.shape or any(other.shape != want.shape for other in rounded):
        return any(other.shape == got.shape for other in rounded) and want.shape != got.shape
    if not want.is_floating_point():
        moved = torch.stack([other != want for other in rounded]).any(0)
        return bool(((want == got) | moved).all())
    spread = torch.stack([(other.double() - want.double()).abs() for other in rounded]).amax(0)
    allowed = tolerance.most(float(want.double().abs().max()))
    apart = (want.double() - got.double()).abs()
    return bool((apart <= allowed + _TIMES_ROUNDED * spread).all())


def eager(module: nn.Module, sample: Sample) -> tuple[list[str], list[torch.Tensor]]:
    """Returns the names and the tensors of the model's results, and leaves the model as it was."""
    with torch.no_grad(), kept(module):
        names, tensors = named_outputs(sample.copy().call(module))
        return names, [tensor.clone() for tensor in tensors]


def compare(
    names: Sequence[str],
    expected: Sequence[torch.Tensor],
    given: Sequence[torch.Tensor],
    tolerance: Tolerance,
    usual: Sequence[float] = (),
) -> list[Difference]:
    """The differences by output. ``usual`` has the magnitudes that the outputs have on other inputs: a function that
    is near zero here (a sigmoid) may have the roundings of its usual results.
    """
    if len(expected) != len(given):
        return [
            Difference(
                "outputs", wrong=f"the model has {len(expected)}, the artefact has {len(given)}"
            )
        ]
    return [
        _difference(
            name, want.detach().cpu(), got.detach().cpu(), tolerance, usual[at] if usual else 0.0
        )
        for at, (name, want, got) in enumerate(zip(names, expected, given, strict=True))
    ]


def _larger(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [max(pair) for pair in zip(one or other, other, strict=True)]


def _magnitude(tensor: torch.Tensor) -> float:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return 0.0
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _difference(
    name: str, want: torch.Tensor, got: torch.Tensor, tolerance: Tolerance, usual: float
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
        result.rounding = torch.finfo(want.dtype).eps * usual
        _floating(result, want, got, tolerance)
    return result


def _floating(
    result: Difference, want: torch.Tensor, got: torch.Tensor, tolerance: Tolerance
) -> None:
    want, got = _wide(want), _wide(got)
    same = (want == got) | (want.isnan() & got.isnan())  # Inf minus Inf would be NaN
    apart = torch.where(same, 0.0, (want - got).abs())
    if not apart.isfinite().all():
        result.absolute = float("inf")
        result.wrong = f"{int((~apart.isfinite()).sum())} elements are NaN or Inf in only one of the two results"
        return
    result.absolute = float(apart.max())
    result.magnitude = _magnitude(want)
    allowed = tolerance.most(result.magnitude)
    if not want.is_complex() and want.dim() > 1 and want.shape[-1] > 1:
        result.top1 = _top1(want, got, allowed)
    if result.absolute > allowed:
        at = [int(i) for i in torch.unravel_index(apart.argmax(), apart.shape)]
        result.wrong = (
            f"differs by {result.absolute:.3g} at {at}, {result.relative:.3g} of the largest element; "
            f"allowed {allowed:.3g}"
        )
    elif bool((apart > (own := of_elements(want, tolerance) + result.rounding)).any()):
        at = [int(i) for i in torch.unravel_index((apart - own).argmax(), apart.shape)]
        result.in_column = (
            f"differs by {float(apart[tuple(at)]):.3g} at {at}, where its scale allows "
            f"{float(own[tuple(at)]):.3g} (the largest element of the whole is {result.magnitude:.3g})"
        )


def _top1(want: torch.Tensor, got: torch.Tensor, allowed: float) -> float | None:
    top = want.topk(2, dim=-1).values
    clear = (top[..., 0] - top[..., 1]) > 2 * allowed
    if not clear.any():
        return None
    return float((want.argmax(-1) == got.argmax(-1))[clear].double().mean())
