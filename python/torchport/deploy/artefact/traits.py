"""What one run of a model shows of it: its operators, and the random numbers that it draws."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.state import kept
from torchport.deploy.artefact.user_lines import line_here


@dataclass
class Traits:
    """``operators`` maps the names of operators ("aten::add") to the first line that calls each, as
    FILE:LINE, or to "torch's code". ``random`` has a text for each line that draws random numbers of
    torch, and for Python's and NumPy's global generators, whose numbers a capture makes constants.
    """

    operators: dict[str, str] = field(default_factory=dict)
    random: list[str] = field(default_factory=list)


def traits_of(module: nn.Module, sample: Sample) -> Traits:
    """Runs the model once, and restores it."""
    traits = Traits()
    before = _global_generators()
    mode = _Operators(traits)
    with torch.no_grad(), kept(module), mode:
        sample.copy().call(module)
    if mode.has_higher_order:  # what torch.cond compiled under the mode would fail in a capture
        torch.compiler.reset()
    after = _global_generators()
    traits.random += [
        f"forward draws numbers of {name}, which are constants in an artefact"
        for name, state in before.items()
        if after.get(name) != state
    ]
    return traits


class _Operators(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self, traits: Traits) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.has_higher_order = False
        self._traits = traits

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            self.has_higher_order = True
            return func(*args, **kwargs)
        name = func._schema.name
        if name not in self._traits.operators:
            self._traits.operators[name] = line_here() or "torch's code"
        # Attention has the tag, too, and draws only for dropout.
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        device = next((one.device for one in args if isinstance(one, torch.Tensor)), None)
        device = kwargs.get("device") or device
        before = _generator_of(device)
        result = func(*args, **kwargs)
        own = kwargs.get("generator") is not None
        if own or not torch.equal(before, _generator_of(device)):
            text = f"{line_here() or name} draws random numbers"
            if text not in self._traits.random:
                self._traits.random.append(text)
        return result


def _generator_of(device: torch.device | None) -> torch.Tensor:
    """The state of torch's random numbers of a device; by default of the CPU."""
    if device is None or device.type in ("cpu", "meta"):
        return torch.get_rng_state()
    state: torch.Tensor = torch.get_device_module(device).get_rng_state(device)
    return state


def _global_generators() -> dict[str, str]:
    states = {"random": repr(random.getstate())}
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        states["numpy.random"] = repr((kind, keys.tobytes(), rest))
    return states
