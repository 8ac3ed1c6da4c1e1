"""Finds the tensor on the wrong device, the code that put it there, and the fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torchport._on_devices import on_devices
from torchport.observe.inventory import Held, bytes_of
from torchport.observe.lines import assignment_of, line_of, on_device
from torchport.observe.naming import Named, Names
from torchport.observe.result import OUTSIDE, Line, Mixed, Pattern, Side, Step


@dataclass
class Context:
    """The data that a diagnosis needs."""

    model: nn.Module
    held: list[Held]
    names: Names
    module_of_scope: Callable[[int], str]
    loader: bool  # whether a DataLoader made the inputs


def home_of(held: list[Held]) -> torch.device | None:
    """The device that most of the model's bytes are on."""
    sizes: Counter[torch.device] = Counter()
    for item in held:
        if item.kind != "unregistered tensor":
            sizes[item.tensor.device] += bytes_of(item.tensor) + 1
    return sizes.most_common(1)[0][0] if sizes else None


def step_of(call: Any, context: Context) -> Step:
    return Step(
        op=call.op,
        kind=call.kind.name,
        module=context.module_of_scope(call.scope),
        line=line_of(call.place),
        source=str(call.from_device),
        target=str(call.to_device),
    )


@dataclass
class Known:
    """A tensor that an operator got, with all that is known about it."""

    participant: Any
    named: Named | None
    root: Named | None  # the named tensor that it was computed from; None if a factory made it
    made: Step | None
    moved: Step | None

    @property
    def device(self) -> torch.device:
        device: torch.device = self.participant.facts.device
        return device

    @property
    def origin(self) -> str:
        """Where the tensor comes from; this decides the pattern and the fix."""
        if self.moved and self.moved.target == str(self.device):
            return "moved"
        for named in (self.named, self.root):
            if named is not None and named.kind not in ("local", "global"):
                return named.kind
        return "made" if self.made and self.made.kind == "made" else "elsewhere"

    @property
    def held(self) -> Held | None:
        for named in (self.named, self.root):
            if named is not None and named.held is not None:
                return named.held
        return None

    @property
    def name(self) -> str:
        if self.named is not None:
            return self.named.name
        if self.made is not None and self.made.line is not None and self.made.line.expression:
            return " ".join(self.made.line.expression.split())
        story = self.participant.story
        of = f" of {self.root.name}" if self.root is not None else ""
        return f"the result of {story[0].op}{of}" if story else self.participant.argument


def look_at(participant: Any, context: Context) -> Known:
    """Finds the names and the history of a tensor that the observer recorded."""
    steps = [step_of(call, context) for call in participant.story]
    root = participant.root
    return Known(
        participant=participant,
        named=context.names.of(participant.tensor),
        root=context.names.find(root.tensor, root.storage) if root is not None else None,
        made=next((s for s in reversed(steps) if s.kind == "made"), steps[0] if steps else None),
        moved=next((s for s in steps if s.kind == "moved"), None),
    )


def _side(tensor: Known, context: Context) -> Side:
    facts = tensor.participant.facts
    return Side(
        argument=tensor.participant.argument,
        name=tensor.name,
        kind=tensor.named.kind if tensor.named else "temporary",
        device=str(facts.device),
        dtype=str(facts.dtype).removeprefix("torch."),
        sizes=tuple(facts.sizes),
        made=tensor.made,
        moved=tensor.moved,
        origin=tensor.origin + (f" {tensor.root.name}" if tensor.root else ""),
        story=tuple(step_of(call, context) for call in tensor.participant.story[:8]),
    )


def _choose(tensors: list[Known], home: torch.device | None) -> tuple[Known, Known]:
    """Returns the tensor on the wrong device, and one of the tensors on the right device."""
    counted = [t for t in tensors if not (t.device.type == "cpu" and not t.participant.facts.sizes)]
    at_home = [t for t in counted if t.device == home]
    away = [t for t in counted if t.device != home]
    if at_home and away:
        return away[0], at_home[0]
    other = counted[0]
    return next(t for t in counted if t.device != other.device), other


def sentence(mixed: Mixed) -> str:
    """The first words of each message about mixed devices: "mul.Tensor got scale on cpu and x on
    cuda:0"."""
    sides = (mixed.culprit, mixed.other)
    return f"{mixed.op.removeprefix('aten::')} got {on_devices((side.name, side.device) for side in sides)}"


def diagnose(mixed: Any, context: Context, error: BaseException | None) -> Mixed:
    """Explains the first call with mixed devices that the observer recorded."""
    tensors = [look_at(p, context) for p in mixed.participants]
    culprit, other = _choose(tensors, home_of(context.held))
    fix = _fix_for(culprit, other, context)
    return Mixed(
        op=mixed.call.op,
        module=context.module_of_scope(mixed.call.scope),
        line=line_of(mixed.call.place),
        backward=mixed.backward,
        forward=step_of(mixed.forward, context) if mixed.forward is not None else None,
        culprit=_side(culprit, context),
        other=_side(other, context),
        pattern=fix.pattern,
        fix=fix.text,
        fixed_line=fix.line,
        fix_at=fix.at,
        message=mixed.message.strip().partition("\n")[0].removeprefix("RuntimeError: "),
        caught=error is None,
    )


@dataclass
class _Fix:
    pattern: Pattern | None
    text: str
    line: str = ""
    at: Line | None = None


def _fix_for(culprit: Known, other: Known, context: Context) -> _Fix:
    by_origin: dict[str, Callable[[Known, Known, Context], _Fix]] = {
        "input": _fix_input,
        "parameter": _fix_parameter,
        "buffer": _fix_parameter,
        "unregistered tensor": _fix_unregistered,
        "made": _fix_made,
        "moved": _fix_moved,
    }
    find = by_origin.get(culprit.origin, _fix_elsewhere)
    return find(culprit, other, context)


def _fix_input(given: Known, other: Known, context: Context) -> _Fix:
    if given.device.type != "cpu" and other.device.type == "cpu":
        return _Fix(
            "model/input",
            f"move the model to the device of its input: model.to({str(given.device)!r}), before "
            "the optimizer is made",
        )
    device = str(other.device)
    if context.loader:
        return _Fix(
            "data loader",
            f"the loader yields batches on {given.device}: iterate over "
            f"torchport.loader(loader, {device!r}), or move each batch in the loop with "
            f".to({device!r}, non_blocking=True) and pin_memory=True in the DataLoader",
        )
    name = given.root.name if given.root and given.root.kind == "input" else given.name
    return _Fix(
        "model/input", f"move it before the model is called: {name} = {name}.to({device!r})"
    )


def _fix_parameter(held: Known, other: Known, context: Context) -> _Fix:
    device = str(other.device)
    kind = held.held.kind if held.held else "parameter"
    return _Fix(
        "parameter/buffer",
        f"{kind} {held.name} was not moved with the rest: call model.to({device!r}) once the model "
        "is complete; make anything that is replaced or added later on that device",
    )


def _fix_unregistered(tensor: Known, other: Known, context: Context) -> _Fix:
    held = tensor.held
    assert held is not None
    if held.unregistered_module:
        return _Fix(
            "parameter/buffer",
            f"the module {held.unregistered_module} is in a plain Python container, where model.to() "
            "does not see it: put it into nn.ModuleList or nn.ModuleDict",
        )
    module = context.model.get_submodule(held.module)
    line, expression = assignment_of(module, held.path)
    text = (
        f"{held.path} is a plain attribute of {type(module).__name__}, which model.to() does not "
        "move: register it as a buffer, or let torchport.adopt(model) do so"
    )
    if not expression:
        return _Fix("parameter/buffer", text, at=line)
    fixed = f'self.register_buffer("{held.path}", {expression}, persistent=False)'
    return _Fix("parameter/buffer", text, fixed, line)


def _fix_made(made: Known, other: Known, context: Context) -> _Fix:
    line = made.made.line if made.made else None
    reference = _reference(line, other, context)
    return _Fix(
        "intermediate",
        f"make it where {reference.removesuffix('.device')} is: device={reference}",
        on_device(line, reference),
        line,
    )


def _fix_moved(moved: Known, other: Known, context: Context) -> _Fix:
    assert moved.moved is not None
    line = moved.moved.line
    reference = _reference(line, other, context)
    what = f"{moved.moved.op.removeprefix('aten::')} moved it to {moved.moved.target}"
    where = f" at {line}" if line else ""
    pattern: Pattern = "model/input" if moved.moved.module == OUTSIDE else "intermediate"
    return _Fix(
        pattern, f"{what}{where}: remove that call, or move it back with .to({reference})", at=line
    )


def _fix_elsewhere(tensor: Known, other: Known, context: Context) -> _Fix:
    if tensor.participant.story:
        reference = _reference(None, other, context)
        return _Fix(
            "intermediate",
            f"{tensor.name} was computed from a tensor that no operator made (from_numpy, .data, an "
            f"extension): move that tensor where it is made, with .to({reference})",
        )
    return _Fix(
        None,
        f"{tensor.name} comes from outside the model and its inputs: move it to "
        f"{str(other.device)!r}, or make it a buffer of the model",
    )


def _reference(line: Line | None, other: Known, context: Context) -> str:
    """An expression for the right device that is valid in the function of ``line``."""
    function = line.function if line else ""
    if name := context.names.on(other.device, function):
        return f"{name}.device"
    if other.named is not None and other.named.held is not None:
        held = other.named.held
        return f"self.{held.path}.device" if not held.module else f"{held.name}.device"
    return "x.device" if other.named is None else f"{other.named.name}.device"
