"""Finds the tensor on the wrong device and the code that put it there."""

from __future__ import annotations

from typing import Any

import torch

from torchport._on_devices import on_devices
from torchport.observe.fixes import fix_for
from torchport.observe.inventory import home_of
from torchport.observe.known import Context, Known, look_at, step_of
from torchport.observe.lines import line_of
from torchport.observe.result import Mixed, Side


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
    fix = fix_for(culprit, other, context)
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
