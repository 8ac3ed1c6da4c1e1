"""What is known of a tensor that an operator got: its names and its history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torchport.observe.inventory import Held
from torchport.observe.lines import line_of
from torchport.observe.naming import Named, Names
from torchport.observe.references import References
from torchport.observe.result import Mixed, Step
from torchport.observe.splitting import Split


@dataclass
class Context:
    """The data that a diagnosis needs."""

    model: nn.Module
    held: list[Held]
    names: Names
    module_of_scope: Callable[[int], str]
    loader: bool  # whether a DataLoader made the inputs
    inputs: dict[str, torch.Tensor]
    references: References
    split: Split | None
    # Runs the call again with another model: what then mixes devices.
    again: Callable[[nn.Module], Mixed | None] | None = None


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
    def is_registered(self) -> bool:
        """Whether it is a parameter or a buffer of the model itself."""
        named = self.named
        return (
            named is not None
            and named.held is not None
            and not (named.held.outside or named.held.kind == "unregistered tensor")
        )

    @property
    def is_computed(self) -> bool:
        """Whether the operator before computed it, so that it was neither made nor moved there."""
        story = self.participant.story
        return bool(story) and story[0].kind.name == "computed"

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
