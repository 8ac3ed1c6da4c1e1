"""Files of weights: src/bindings/checkpoint.cpp and wrappers.cpp."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from torchport._native import call

_Named = Iterable[tuple[str, torch.Tensor]]


@dataclass(frozen=True)
class FileSummary:
    """What is known about a file before it is loaded."""

    format: str  # "torch.save", "TorchScript", ...; empty if it is no checkpoint
    fault: str  # "is cut off: ..."; empty if nothing is wrong
    refused: list[str]  # names in it that torch.load(weights_only=True) refuses
    mappable: bool  # whether the tensors' bytes lie in it uncompressed


@dataclass(frozen=True)
class Mismatch:
    """A tensor that differs between a checkpoint and a module."""

    name: str
    wanted: str  # the module's shape or dtype
    given: str  # the checkpoint's


@dataclass(frozen=True)
class LoadReport:
    """The differences between a checkpoint and a module. Its text is a summary.

    Attributes:
        missing: Names that only the module has.
        unexpected: Names that only the checkpoint has.
        shapes: Tensors of another shape, each with name, wanted and given.
        dtypes: Tensors of another dtype, each with name, wanted and given.
        remapped: The changes of names that made them match.
        hint: The option that makes more names match; empty if there is none.
        complete: Whether all names and shapes match.

    Example:
        >>> torchport.save({"weight": torch.ones(2, 2)}, "part.safetensors")
        >>> report = torchport.load_report("part.safetensors", torch.nn.Linear(2, 3))
        >>> report.missing, report.complete
        (['bias'], False)
        >>> one = report.shapes[0]
        >>> one.name, one.wanted, one.given
        ('weight', '[3, 2]', '[2, 2]')
    """

    missing: list[str]
    unexpected: list[str]
    shapes: list[Mismatch]
    dtypes: list[Mismatch]
    remapped: list[str]
    hint: str
    complete: bool
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text


def load_tensors(
    path: str, device: torch.device, *, map: bool
) -> tuple[str, list[tuple[str, torch.Tensor]]]:
    """The format of a checkpoint and its tensors by name, on ``device``."""
    form, names, tensors = call("load_tensors", path, device, map, None)
    return form, list(zip(names, tensors, strict=True))


def save_safetensors(path: str, tensors: _Named, metadata: Iterable[tuple[str, str]]) -> None:
    """Writes a safetensors file, completely or not at all."""
    pairs = list(tensors)
    names = [name for name, _ in pairs]
    call("save_safetensors", path, names, [t for _, t in pairs], json.dumps(list(metadata)))


def summarize(path: str) -> FileSummary:
    """Summarizes a file without running code in it. An unreadable file has a ``fault``."""
    return FileSummary(**json.loads(call("summarize_file", path)))


def _slots(tensors: _Named) -> str:
    return json.dumps(
        [[name, list(t.shape), str(t.dtype).removeprefix("torch.")] for name, t in tensors]
    )


def _report(raw: dict[str, Any]) -> LoadReport:
    for differing in ("shapes", "dtypes"):
        raw[differing] = [Mismatch(**one) for one in raw[differing]]
    return LoadReport(_text=raw.pop("text"), **raw)


def plan_load(
    wanted: _Named, given: _Named, remap_prefixes: bool, ties: Sequence[Sequence[str]]
) -> tuple[list[tuple[int, int]], LoadReport]:
    """Decides which tensor of a file becomes which tensor of a module, as pairs of indices into
    (wanted, given), and tells the differences. Only names, shapes and dtypes are compared."""
    plan = json.loads(
        call("plan_load", _slots(wanted), _slots(given), remap_prefixes, json.dumps(ties))
    )
    return [(want, give) for want, give in plan["pairs"]], _report(plan["report"])


def wrapped_attributes() -> dict[str, str]:
    """The attribute in which each class of wrapper keeps the wrapped model."""
    return cast(dict[str, str], json.loads(call("wrapped_attributes")))
