"""Makes the findings of a verification, the most important ones first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torchport._module_parts import shortened
from torchport._quantities import counted, size
from torchport.observe.checklist import training_modules
from torchport.observe.inputs import Inputs
from torchport.observe.inventory import Held, home_of
from torchport.observe.mixing import sentence
from torchport.observe.result import OUTSIDE, Finding, Transfer, Verification
from torchport.observe.scopes import library_of
from torchport.observe.splitting import Split, tensors_away, unused

_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Context:
    """What the findings need besides the result. ``libraries``: whether copies and reads inside
    installed libraries are findings."""

    model: nn.Module
    held: list[Held]
    given: Inputs
    split: Split | None
    array: Finding | None
    libraries: bool


def findings_of(result: Verification, context: Context) -> list[Finding]:
    found = [
        *_mixed(result),
        *([context.array] if context.array is not None else []),
        *_not_finite(result),
        *_misplaced(result, context),
        *_modes(result, context.model),
        *_graphs(context.held),
        *_transfers(result.transfers, context),
        *_questions(result),
        *_limits(result, context),
    ]
    return sorted(found, key=lambda finding: _ORDER[finding.severity])


def _mixed(result: Verification) -> Iterator[Finding]:
    mixed = result.mixed
    if mixed is None:
        return
    caught = "; the program caught the error and went on" if mixed.caught else ""
    yield Finding("error", "mixed-devices", sentence(mixed) + caught, mixed.fix, mixed.line)


def _not_finite(result: Verification) -> Iterator[Finding]:
    for found in result.not_finite:
        where = f" in {found.module}" if found.module else ""
        yield Finding(
            "error" if found.what == "NaN" else "note",
            "not-finite",
            f"{found.op.removeprefix('aten::')}{where} made the first {found.what} from finite "
            f"numbers ({', '.join(found.inputs)})",
            "check the values of its inputs there",
            found.line,
        )


def _misplaced(result: Verification, context: Context) -> Iterator[Finding]:
    """Reports tensors of the model that are on another device than the rest, also unused ones."""
    held, split = context.held, context.split
    home = home_of(held)
    told = result.mixed.culprit.name if result.mixed else ""
    away = [h for h in held if home is not None and h.tensor.device != home and h.name != told]
    registered = [h for h in away if h.kind != "unregistered tensor"]
    if registered and split is not None:
        yield _split(result, split)
        registered = [h for h in registered if h.tensor.device.type == "cpu"]
    if registered and result.mixed is None and home is not None:
        # The model ran, so somebody spread it over devices on purpose, by device_map or by hand.
        yield Finding(
            "note",
            "spread-model",
            f"most of the model is on {home}, but {tensors_away(registered, home)}",
        )
        registered = []
    for item in [*registered, *(h for h in away if h.kind == "unregistered tensor")]:
        yield from _misplaced_tensor(item, str(home))


def _split(result: Verification, split: Split) -> Finding:
    """Model parallelism, or a part that was forgotten in a move."""
    if split.on_purpose:
        text = f"the model is split over devices on purpose: {split.words()}; {split.how()}"
        return Finding("note", "spread-model", text)
    idle = unused(split, {module.name: module.calls for module in result.modules})
    used = f"; {shortened(idle)} did not run" if idle else ""
    return Finding(
        "note" if result.mixed is None and not idle else "warning",
        "spread-model",
        f"{split.words()}, and nothing in this run moves a tensor between them{used}",
        f"if a part was forgotten in a move, call model.to({split.home!r}); if the split is meant, "
        "move tensors at its borders",
    )


def _misplaced_tensor(item: Held, home: str) -> Iterator[Finding]:
    unregistered = item.kind == "unregistered tensor"
    if unregistered and item.tensor.device.type == "cpu" and item.tensor.dim() == 0:
        return  # a CPU scalar goes with any device
    fix = (
        f'call self.register_buffer("{item.path}", ..., persistent=False) in its module'
        if unregistered
        else f"call model.to({home!r}) once the model is complete"
    )
    if item.unregistered_module:
        fix = f"put {item.unregistered_module} into nn.ModuleList or nn.ModuleDict"
    yield Finding(
        "note" if unregistered and not item.unregistered_module else "warning",
        "misplaced-tensor",
        f"{item.kind} {item.name} is on {item.tensor.device}, the model on {home}",
        fix,
    )


def _modes(result: Verification, model: nn.Module) -> Iterator[Finding]:
    still = training_modules(model)
    if result.purpose == "training" and not still and not model.training:
        yield Finding(
            "warning", "evaluation-mode", "the model is in evaluation mode", "call model.train()"
        )


def _graphs(held: list[Held]) -> Iterator[Finding]:
    for item in held:
        if item.kind != "parameter" and item.tensor.grad_fn is not None:
            yield Finding(
                "warning",
                "kept-graph",
                f"{item.kind} {item.name} keeps the graph of the run and everything saved in it "
                f"({_nodes(item.tensor)} nodes)",
                f"call {item.name}.detach() before you keep it, or .item() for a number",
            )


def _nodes(tensor: torch.Tensor) -> int:
    seen: set[Any] = set()
    waiting: list[Any] = [tensor.grad_fn]
    while waiting and len(seen) < 100_000:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(child for child, _ in node.next_functions)
    return len(seen)


def _transfers(transfers: list[Transfer], context: Context) -> Iterator[Finding]:
    """Makes one finding for each line, also if several modules run it."""
    lines: dict[tuple[Any, ...], list[Transfer]] = {}
    inside_libraries: dict[str, list[str]] = {}
    for t in transfers:
        inside = t.module != OUTSIDE
        key = (str(t.line or t.module), t.op, t.kind, t.source, t.target, t.waits, inside)
        lines.setdefault(key, []).append(t)
    for same in lines.values():
        line = same[0].line
        library = library_of(line.file) if line is not None and not context.libraries else ""
        if library:
            kind = "read" if same[0].kind == "read" else "copy"
            inside_libraries.setdefault(library, []).append(kind)
        else:
            yield _read(same) if same[0].kind == "read" else _copy(same, context.split)
    if inside_libraries:
        yield _of_libraries(inside_libraries)


def _of_libraries(kinds: dict[str, list[str]]) -> Finding:
    """Copies and reads that the program cannot change: they do not fail the model."""
    every = [kind for some in kinds.values() for kind in some]
    copies = every.count("copy")
    told = [counted(every.count("read"), "read")] if "read" in every else []
    told += ["1 copy" if copies == 1 else f"{copies} copies"] if copies else []
    names = ", ".join(f"{name}: {len(some)}" for name, some in sorted(kinds.items()))
    return Finding(
        "note",
        "in-libraries",
        f"{' and '.join(told)} inside libraries ({names}); --libraries reports them",
    )


def _who(same: list[Transfer]) -> str:
    """The expression and its modules, such as "x.cpu() in layer1 and 2 more modules". Without the
    source it names the operator instead."""
    line = same[0].line
    expression = " ".join(line.expression.split()) if line else ""
    name = same[0].op.removeprefix("aten::").partition(".")[0]
    what = expression if expression and len(expression) <= 60 else name
    modules = sorted({t.module for t in same} - {OUTSIDE, ""})
    more = f" and {counted(len(modules) - 1, 'more module')}" if len(modules) > 1 else ""
    return f"{what} in {modules[0]}{more}" if modules else what


def _times(same: list[Transfer]) -> str:
    count = sum(t.count for t in same)
    return f"{count} times" if count > 1 else "once"


def _read(same: list[Transfer]) -> Finding:
    first = same[0]
    on_host = first.source == "cpu"
    return Finding(
        "note" if on_host or first.module == OUTSIDE else "warning",
        "synchronising-read",
        f"{_who(same)} reads {first.source} {_times(same)}: the host "
        + (
            "would wait for the device if the model were on one"
            if on_host
            else "waits for the device"
        ),
        "keep the decision on the device (torch.where), or read many values at once",
        first.line,
    )


def _copy(same: list[Transfer], split: Split | None) -> Finding:
    first = same[0]
    amount = sum(t.bytes for t in same)
    # A model that is split on purpose has to copy at the borders of its parts.
    border = split is not None and first.kind == "between devices"
    return Finding(
        "note" if first.module == OUTSIDE or border else "warning",
        "hidden-copy",
        f"{_who(same)} copies from {first.source} to {first.target} {_times(same)}"
        + (f", {size(amount)}" if amount else "")
        + (", and waits for it" if first.waits else ""),
        "make it on the device where it is used, or move it once before the model is called",
        first.line,
    )


def _questions(result: Verification) -> Iterator[Finding]:
    if result.purpose == "training":
        return
    codes = ("training-mode", "input-device", "gradients-on", "driver", "memory")
    for code, answer in zip(codes, result.checklist, strict=True):
        told = code == "input-device" and result.mixed is not None
        if answer.status == "no" and not told:
            yield Finding("warning", code, answer.seen, answer.fix)


def _limits(result: Verification, context: Context) -> Iterator[Finding]:
    given = context.given
    if given.left_out:
        yield Finding(
            "note",
            "batch",
            f"the model takes {len(given.args)} of the {len(given.args) + given.left_out} parts of "
            "the loader's batch and ignores the rest",
        )
    if result.unrecorded:
        yield Finding(
            "note",
            "long-run",
            f"{result.unrecorded} of {result.operators} operators were only counted, because the "
            "run is long",
        )
    if result.mixed is None and context.array is None and result.operators == 0:
        yield Finding(
            "warning", "nothing-ran", "no operator ran", "check that the call runs the model"
        )
