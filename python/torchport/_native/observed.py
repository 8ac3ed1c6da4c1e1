"""What an observation saw, as include/torchport/observe.h describes it.

The names of the members are those of src/bindings/observed_members.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

import torch


@dataclass(frozen=True)
class TensorFacts:
    """Identifies a tensor, and describes it as it was at that time."""

    tensor: int  # its number, as tensor_number() tells it
    storage: int
    device: torch.device
    dtype: torch.dtype
    bytes: int
    sizes: list[int]


class CallKind(Enum):
    """What a call did with its tensors."""

    computed = "computed"  # from tensors on the same device
    made = "made"  # from no tensor
    moved = "moved"  # to another device
    read = "read"  # the host waits for values of a tensor


@dataclass(frozen=True)
class CallFacts:
    """One call of an operator that a tensor went through."""

    call: int  # its number, in the order of the calls
    op: str  # "aten::add.Tensor"
    kind: CallKind
    scope: int  # index into Observed.scopes
    place: int
    from_device: torch.device
    to_device: torch.device


@dataclass(frozen=True)
class Participant:
    """A tensor that took part in a call, with the calls that it came through, the last one
    first."""

    argument: str  # the parameter's name; "tensors[1]" for an element of a list
    tensor: torch.Tensor
    facts: TensorFacts
    story: list[CallFacts]
    root: TensorFacts | None  # the tensor at the end of the story that no observed call made


@dataclass(frozen=True)
class Scope:
    """One entry into a module."""

    module: int
    place: int  # the place that called the module


@dataclass(frozen=True)
class ModuleSum:
    """The operators that one module called."""

    module: int
    operators: int
    with_grad: int
    with_autocast: int


@dataclass(frozen=True)
class ResultSum:
    """The results that one module made on one device with one dtype."""

    module: int
    device: torch.device
    dtype: torch.dtype
    count: int
    bytes: int


@dataclass(frozen=True)
class FlowSum:
    """The tensors that one module made and another one used."""

    source: int
    target: int
    device: torch.device
    count: int
    bytes: int


@dataclass(frozen=True)
class TransferSum:
    """The transfers, or the reads, of one operator at one place."""

    kind: CallKind
    op: str
    module: int
    place: int
    from_device: torch.device
    to_device: torch.device
    waits: bool  # the host waits for the device
    backward: bool
    count: int
    bytes: int


@dataclass(frozen=True)
class Intermediate:
    """One result that is kept by itself."""

    call: CallFacts
    module: int
    facts: TensorFacts


@dataclass(frozen=True)
class MixedCall:
    """A call that raised an error because its tensors were on several devices."""

    call: CallFacts
    backward: bool
    forward: CallFacts | None  # the call that created this node of the backward pass
    participants: list[Participant]
    message: str


@dataclass(frozen=True)
class NotFiniteCall:
    """A call that made a NaN or an infinity from finite numbers."""

    call: CallFacts
    nan: bool
    result: TensorFacts
    participants: list[Participant]


@dataclass(frozen=True)
class Observed:
    """Everything that one observation saw."""

    operators: int
    unrecorded: int  # those of them that were only counted
    scopes: list[Scope]
    modules: list[ModuleSum]
    results: list[ResultSum]
    flows: list[FlowSum]
    transfers: list[TransferSum]
    intermediates: list[Intermediate]
    mixed: MixedCall | None  # the first
    mixed_count: int
    nan: NotFiniteCall | None
    infinity: NotFiniteCall | None


_Raw = dict[str, Any]
_device = cache(torch.device)


@cache
def _dtype(name: str) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def _facts(raw: _Raw) -> TensorFacts:
    raw["device"], raw["dtype"] = _device(raw["device"]), _dtype(raw["dtype"])
    return TensorFacts(**raw)


def _call(raw: _Raw) -> CallFacts:
    return CallFacts(**_transferring(raw))


def _transferring(raw: _Raw) -> _Raw:
    raw["kind"] = CallKind[raw["kind"]]
    raw["from_device"] = _device(raw["from_device"])
    raw["to_device"] = _device(raw["to_device"])
    return raw


def _participant(raw: _Raw, tensor: torch.Tensor) -> Participant:
    return Participant(
        argument=raw["argument"],
        tensor=tensor,
        facts=_facts(raw["facts"]),
        story=[_call(call) for call in raw["story"]],
        root=raw["root"] and _facts(raw["root"]),
    )


def _participants(raw: _Raw, tensors: Iterator[torch.Tensor]) -> list[Participant]:
    return [_participant(one, next(tensors)) for one in raw["participants"]]


def _mixed(raw: _Raw, tensors: Iterator[torch.Tensor]) -> MixedCall:
    raw["participants"] = _participants(raw, tensors)
    raw["call"] = _call(raw["call"])
    raw["forward"] = raw["forward"] and _call(raw["forward"])
    return MixedCall(**raw)


def _not_finite(raw: _Raw, tensors: Iterator[torch.Tensor]) -> NotFiniteCall:
    raw["participants"] = _participants(raw, tensors)
    raw["call"], raw["result"] = _call(raw["call"]), _facts(raw["result"])
    return NotFiniteCall(**raw)


def _intermediate(
    call: int,
    op: str,
    kind: str,
    scope: int,
    place: int,
    source: str,
    target: str,
    module: int,
    tensor: int,
    storage: int,
    device: str,
    dtype: str,
    size: int,
    sizes: list[int],
) -> Intermediate:
    """The columns are those of rows_of() in observed_members.h."""
    made = CallFacts(call, op, CallKind[kind], scope, place, _device(source), _device(target))
    facts = TensorFacts(tensor, storage, _device(device), _dtype(dtype), size, sizes)
    return Intermediate(made, module, facts)


def observed_of(raw: _Raw, participating: list[torch.Tensor]) -> Observed:
    """Makes the objects of the JSON of one observation. ``participating`` are the tensors of the
    participants of its calls ``mixed``, ``nan`` and ``infinity``, in this order."""
    tensors = iter(participating)
    raw["mixed"] = raw["mixed"] and _mixed(raw["mixed"], tensors)
    for name in ("nan", "infinity"):
        raw[name] = raw[name] and _not_finite(raw[name], tensors)
    raw["scopes"] = [Scope(**one) for one in raw["scopes"]]
    raw["modules"] = [ModuleSum(**one) for one in raw["modules"]]
    raw["transfers"] = [TransferSum(**_transferring(one)) for one in raw["transfers"]]
    for one in raw["flows"]:
        one["device"] = _device(one["device"])
    raw["flows"] = [FlowSum(**one) for one in raw["flows"]]
    for one in raw["results"]:
        one["device"], one["dtype"] = _device(one["device"]), _dtype(one["dtype"])
    raw["results"] = [ResultSum(**one) for one in raw["results"]]
    raw["intermediates"] = [_intermediate(*row) for row in raw["intermediates"]]
    return Observed(**raw)
