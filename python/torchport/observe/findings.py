"""What is worth telling, most important first."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from torchport.observe.checklist import training_modules
from torchport.observe.inputs import Inputs
from torchport.observe.inventory import Held
from torchport.observe.mixing import home_of
from torchport.observe.result import Finding, Transfer, Verification
from torchport.observe.sizes import size

_ORDER = {"error": 0, "warning": 1, "note": 2}
_OUTSIDE = "(outside of the model)"


def findings_of(
    result: Verification, model: nn.Module, held: list[Held], given: Inputs
) -> list[Finding]:
    found = [
        *_mixed(result),
        *_not_finite(result),
        *_misplaced(result, held),
        *_modes(result, model),
        *_graphs(held),
        *(f for t in result.transfers for f in _transfer(t)),
        *_questions(result),
        *_limits(result, given),
    ]
    return sorted(found, key=lambda finding: _ORDER[finding.severity])


def _mixed(result: Verification) -> Iterator[Finding]:
    mixed = result.mixed
    if mixed is None:
        return
    culprit, other = mixed.culprit, mixed.other
    caught = "; the program caught the error and went on" if mixed.caught else ""
    yield Finding(
        "error",
        "mixed-devices",
        f"{mixed.op.removeprefix('aten::')} got {culprit.name} on {culprit.device} and "
        f"{other.name} on {other.device}{caught}",
        mixed.fix,
        mixed.line,
    )


def _not_finite(result: Verification) -> Iterator[Finding]:
    for found in result.not_finite:
        where = f" in {found.module}" if found.module else ""
        yield Finding(
            "error" if found.what == "NaN" else "note",
            "not-finite",
            f"{found.op.removeprefix('aten::')}{where} made the first {found.what} out of finite "
            f"numbers ({', '.join(found.inputs)})",
            "look at the values that it was given: torchport.verify(..., every_line=True) has the "
            "lines that made them",
            found.line,
        )


def _misplaced(result: Verification, held: list[Held]) -> Iterator[Finding]:
    """Tensors of the model that are not where the rest of it is, used or not."""
    home = home_of(held)
    told = result.mixed.culprit.name if result.mixed else ""
    for item in held:
        if home is None or item.tensor.device == home or item.name == told:
            continue
        stray = item.kind == "stray attribute"
        if stray and item.tensor.device.type == "cpu" and item.tensor.dim() == 0:
            continue
        fix = (
            f'self.register_buffer("{item.path}", ..., persistent=False) in its module'
            if stray
            else f"model.to({str(home)!r}), once the model is complete"
        )
        if item.unregistered:
            fix = f"put {item.unregistered} into nn.ModuleList or nn.ModuleDict"
        yield Finding(
            "note" if stray and not item.unregistered else "warning",
            "misplaced-tensor",
            f"{item.kind} {item.name} is on {item.tensor.device}, the model on {home}",
            fix,
        )


def _modes(result: Verification, model: nn.Module) -> Iterator[Finding]:
    still = training_modules(model)
    if result.purpose == "training" and not still and not model.training:
        yield Finding(
            "warning", "evaluation-mode", "the model is in evaluation mode", "model.train()"
        )


def _graphs(held: list[Held]) -> Iterator[Finding]:
    for item in held:
        if item.kind != "parameter" and item.tensor.grad_fn is not None:
            yield Finding(
                "warning",
                "kept-graph",
                f"{item.kind} {item.name} keeps the graph of the run, with all that it saved "
                f"({_nodes(item.tensor)} nodes)",
                f"{item.name}.detach(), or .item() for a number, before it is kept",
            )


def _nodes(tensor: torch.Tensor) -> int:
    seen, waiting = set(), [tensor.grad_fn]
    while waiting and len(seen) < 100_000:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(child for child, _ in node.next_functions)
    return len(seen)


def _transfer(transfer: Transfer) -> Iterator[Finding]:
    inside = transfer.module != _OUTSIDE
    name = transfer.op.removeprefix("aten::").partition(".")[0]
    times = f"{transfer.count} times" if transfer.count > 1 else "once"
    where = f" in {transfer.module}" if inside and transfer.module else ""
    if transfer.kind == "read":
        on_host = transfer.source == "cpu"
        yield Finding(
            "note" if on_host or not inside else "warning",
            "synchronising-read",
            f"{name}{where} reads {transfer.source} {times}: the host "
            + ("would wait for the device, were it on one" if on_host else "waits for the device"),
            "keep the decision on the device (torch.where), or read once for many",
            transfer.line,
        )
        return
    amount = f", {size(transfer.bytes)}" if transfer.bytes else ""
    yield Finding(
        "warning" if inside else "note",
        "hidden-copy",
        f"{name}{where} copies from {transfer.source} to {transfer.target} {times}{amount}"
        + (", and waits for it" if transfer.waits else ""),
        "make it where it is used, or move it once, before the model is called",
        transfer.line,
    )


def _questions(result: Verification) -> Iterator[Finding]:
    if result.purpose == "training":
        return
    codes = ("training-mode", "input-device", "gradients-on", "driver", "memory")
    for code, answer in zip(codes, result.checklist, strict=True):
        told = code == "input-device" and result.mixed is not None
        if answer.status == "no" and not told:
            yield Finding("warning", code, answer.seen, answer.fix)


def _limits(result: Verification, given: Inputs) -> Iterator[Finding]:
    if given.left_out:
        yield Finding(
            "note",
            "batch",
            f"the model takes {len(given.args)} of the {len(given.args) + given.left_out} parts of "
            "the loader's batch; the rest was left out",
        )
    if result.unrecorded:
        yield Finding(
            "note",
            "long-run",
            f"{result.unrecorded} of {result.operators} operators are counted only: the run is long",
        )
    if result.mixed is None and result.operators == 0:
        yield Finding("warning", "nothing-ran", "no operator ran", "look at the call")
