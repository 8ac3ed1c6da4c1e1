"""The change that puts a tensor on the right device.

A change is only proposed as code if every name in it is bound at its line; otherwise it is
described in words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from torchport.observe.known import Context, Known
from torchport.observe.lines import (
    assignment_of,
    has_generator,
    moved_at_the_end,
    moved_there,
    on_device,
)
from torchport.observe.result import OUTSIDE, Line, Pattern
from torchport.observe.scopes import library_of
from torchport.observe.splitting import missing_move


@dataclass(frozen=True)
class Attribute:
    """A tensor that a module has as a plain attribute, and the device that it belongs on."""

    module: nn.Module
    name: str
    device: torch.device


@dataclass(frozen=True)
class Fix:
    """Words for the change, and the changed line if it is known. ``others`` are further lines to try in its place.
    ``attribute`` is what the line makes a buffer of. ``tried`` says what came of the lines (`trying.py`)."""

    pattern: Pattern | None
    text: str
    line: str = ""
    at: Line | None = None
    others: tuple[str, ...] = ()
    attribute: Attribute | None = None
    tried: str = ""


def fix_for(culprit: Known, other: Known, context: Context) -> Fix:
    """The change for the tensor on the wrong device. ``other`` is one on the right device."""
    if (text := _across_a_split(culprit, other, context)) is not None:
        return Fix("parameter/buffer", text)
    by_origin: dict[str, Callable[[Known, Known, Context], Fix]] = {
        "input": _fix_input,
        "parameter": _fix_parameter,
        "buffer": _fix_parameter,
        "unregistered tensor": _fix_unregistered,
        "made": _fix_made,
        "moved": _fix_moved,
    }
    find = by_origin.get(culprit.origin, _fix_elsewhere)
    return find(culprit, other, context)


def _across_a_split(culprit: Known, other: Known, context: Context) -> str | None:
    """The fix where a computed tensor meets a part of a split model on another accelerator."""
    split = context.split
    sides = (culprit, other) if culprit.is_registered else (other, culprit)
    if split is None or not sides[0].is_registered or sides[1].is_registered:
        return None
    part, computed = sides
    devices = {str(part.device), str(computed.device)}
    if not computed.is_computed or not devices <= split.parts.keys() or part.held is None:
        return None
    there, target = str(computed.device), str(part.device)
    return missing_move(split, part.held.module, there, computed.name, target)


def _fix_input(given: Known, other: Known, context: Context) -> Fix:
    if given.device.type != "cpu" and other.device.type == "cpu":
        return Fix(
            "model/input",
            f"move the model to the device of its input: model.to({str(given.device)!r}), before "
            "the optimizer is made",
        )
    device = str(other.device)
    if context.loader:
        return Fix(
            "data loader",
            f"the loader yields batches on {given.device}: iterate over "
            f"torchport.loader(loader, {device!r}), or move each batch in the loop with "
            f".to({device!r}, non_blocking=True) and pin_memory=True in the DataLoader",
        )
    name = given.root.name if given.root and given.root.kind == "input" else given.name
    return Fix(
        "model/input",
        f"move the argument {name} to {device!r} before the model is called, with .to({device!r})",
    )


def _fix_parameter(held: Known, other: Known, context: Context) -> Fix:
    device = str(other.device)
    item = held.held
    if item is not None and item.outside:
        move = (
            f"call {item.variable}.to({device!r})" if item.variable else f"call its .to({device!r})"
        )
        return Fix(
            "parameter/buffer",
            f"{held.name} is a {item.kind} of {item.outside}, which is not part of the model and was "
            f"not moved with it: {move}, or wrap {item.variable or 'it'} in torchport.follow_input()",
        )
    kind = item.kind if item else "parameter"
    return Fix(
        "parameter/buffer",
        f"{kind} {held.name} was not moved with the rest: call model.to({device!r}) once the model "
        "is complete; make anything that is replaced or added later on that device",
    )


def _fix_unregistered(tensor: Known, other: Known, context: Context) -> Fix:
    held = tensor.held
    assert held is not None
    if held.unregistered_module:
        return Fix(
            "parameter/buffer",
            f"the module {held.unregistered_module} is in a plain Python container, where .to() "
            "does not see it: put it into nn.ModuleList or nn.ModuleDict",
        )
    module = held.owner
    root = held.variable or (held.outside and "module") or "model"
    text = (
        f"{held.path} is a plain attribute of {type(module).__name__}, which {root}.to() does not "
        f"move: register it as a buffer, or let torchport.adopt({root}) do so"
    )
    line, expression = assignment_of(module, held.path)
    if not expression:
        return Fix("parameter/buffer", text, at=line)
    fixed = f'self.register_buffer("{held.path}", {expression}, persistent=False)'
    attribute = Attribute(module, held.path, other.device)
    return Fix("parameter/buffer", text, fixed, line, attribute=attribute)


def _there(other: Known) -> str:
    return f"{other.device}, where {other.name} is"


def _fix_made(made: Known, other: Known, context: Context) -> Fix:
    line = made.made.line if made.made else None
    reference = context.references.at(made.made, other.device, context.inputs)
    if reference:
        place = reference.removesuffix(".device")
        text = f"make it where {place} is: device={reference}"
        if has_generator(line):  # which draws on its own device only
            text = f"its generator draws on {made.device}: move it to where {place} is, .to({reference})"
        return Fix(
            "intermediate",
            text,
            on_device(line, reference),
            line,
            others=moved_at_the_end(line, reference),
        )
    if line is not None and (library := library_of(line.file)):
        why = f"the line is in the library {library}, so give the library its tensors there"
    elif line is not None:
        why = (
            f"no tensor that {line.function}() has at this line is known to be there, so give it one, "
            "or the device, as an argument"
        )
    else:
        why = "give its factory the device"
    return Fix("intermediate", f"make it on {_there(other)}; {why}", at=line)


def _fix_moved(moved: Known, other: Known, context: Context) -> Fix:
    assert moved.moved is not None
    line = moved.moved.line
    reference = context.references.at(moved.moved, other.device, context.inputs)
    what = f"{moved.moved.op.removeprefix('aten::')} moved it to {moved.moved.target}"
    where = f" at {line}" if line else ""
    pattern: Pattern = "model/input" if moved.moved.module == OUTSIDE else "intermediate"
    back = reference or repr(str(other.device))
    return Fix(
        pattern,
        f"{what}{where}: remove that call, or move it back with .to({back})",
        moved_there(line, reference) if reference else "",
        line,
    )


def _fix_elsewhere(tensor: Known, other: Known, context: Context) -> Fix:
    if tensor.participant.story:
        return Fix(
            "intermediate",
            f"{tensor.name} was computed from a tensor that no operator made (from_numpy, .data, an "
            f"extension): move that tensor where it is made, to {_there(other)}",
        )
    return Fix(
        None,
        f"{tensor.name} comes from outside the model and its inputs: move it to "
        f"{str(other.device)!r}, or make it a buffer of the model",
    )
