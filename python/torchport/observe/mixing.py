"""Finds the tensor on the wrong device and the code that put it there."""

from __future__ import annotations

from typing import Any

import torch

from torchport._on_devices import on_devices
from torchport.observe.fixes import fix_for
from torchport.observe.inventory import home_of
from torchport.observe.known import Context, Known, look_at, step_of
from torchport.observe.lines import line_of
from torchport.observe.result import Line, Mixed, Side
from torchport.observe.trying import Trial


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


def _place(line: Line | None) -> tuple[str, int] | None:
    return (line.file, line.line) if line is not None else None


def diagnose(mixed: Any, context: Context, error: BaseException | None) -> Mixed:
    """Explains the first call with mixed devices that the observer recorded."""
    tensors = [look_at(p, context) for p in mixed.participants]
    culprit, other = _choose(tensors, home_of(context.held))
    fix = fix_for(culprit, other, context)
    line = line_of(mixed.call.place)
    if context.again is not None:

        def is_same(left: Mixed) -> bool:
            if left.op == mixed.call.op and _place(left.line) == _place(line):
                return True
            # What the changed line makes is now wrong at another place.
            made = [side.made for side in (left.culprit, left.other) if side.made is not None]
            return any(_place(step.line) == _place(fix.at) is not None for step in made)

        fix = Trial(context.model, context.again).best_of(fix, is_same)
    return Mixed(
        op=mixed.call.op,
        module=context.module_of_scope(mixed.call.scope),
        line=line,
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
        tried=fix.tried,
    )
