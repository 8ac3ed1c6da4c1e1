"""One run of the model before the export, to report its errors in the model's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from torchport.deploy.artefact.batches import larger_inputs, other_inputs
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.held_values import same
from torchport.deploy.artefact.peeks import Peeks, asked_modes
from torchport.deploy.artefact.sample import Sample, named_outputs
from torchport.deploy.artefact.state import State, kept
from torchport.deploy.artefact.stateful import refuse_state
from torchport.deploy.artefact.threads import in_other_threads
from torchport.deploy.artefact.user_lines import line_of_error
from torchport.observe.mixing import sentence
from torchport.observe.result import Mixed
from torchport.observe.running import WatchedRun


@dataclass(frozen=True)
class FirstRun:
    """The result of the run, what the forward changed without an effect on its next result, the inputs
    that it changed in place, and what its lines read of tensors by ways that no export follows.
    """

    result: Any
    changed: list[str]
    changed_inputs: list[str]
    peeks: dict[str, str]


def run_once(module: nn.Module, sample: Sample) -> FirstRun:
    """Runs the model once on a copy of the sample, and restores the model.

    Raises ExportError if the model raises an error or keeps state from one call to the next. If an
    operator gets tensors on two devices, the message names the tensors and the fix, in the words of
    ``torchport verify``.
    """
    inputs = sample.copy()
    run = WatchedRun(module, dict(inputs.items()))
    run.again = lambda model: WatchedRun(model, dict(inputs.items())).mixed_by(
        lambda: sample.copy().call(model)
    )
    peeks = Peeks()

    def call() -> Any:
        with peeks, in_other_threads(lambda: Peeks(peeks.found)), asked_modes(peeks):
            return inputs.call(module)

    try:
        with torch.no_grad(), kept(module, parameters=True) as state:
            run.go(call)
            if run.error is None:
                return _finished(module, sample, inputs, run.output, state, peeks.found)
        with torch.no_grad():
            mixed = run.mixed(run.summarize()[1])
        assert mixed is not None  # go() raises every other error
        raise ExportError(_message(mixed)) from run.error
    except ExportError:
        raise
    except Exception as error:
        line = line_of_error(error.__traceback__)
        raise ExportError(
            f"the model itself fails on these inputs{f', at {line}' if line else ''}:\n"
            f"  {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        ) from error
    finally:
        run.let_go()


def _finished(
    module: nn.Module,
    sample: Sample,
    inputs: Sample,
    result: Any,
    state: State,
    peeks: dict[str, str],
) -> FirstRun:
    changed_inputs = [
        name
        for (name, before), (_, after) in zip(sample.items(), inputs.items(), strict=True)
        if not same(before, after)
    ]
    result = pytree.tree_map(
        lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, result
    )
    changed = state.changed()
    if changed:
        _, first = named_outputs(result)
        refuse_state(
            module,
            state,
            changed,
            first,
            between=[
                lambda made=made: made.call(module)  # type: ignore[misc]
                for made in (other_inputs(sample), larger_inputs(sample))
            ],
            again=lambda: named_outputs(sample.copy().call(module))[1],
        )
    return FirstRun(result, changed, changed_inputs, peeks)


def _message(mixed: Mixed) -> str:
    lines = [sentence(mixed) + (f", at {mixed.line}" if mixed.line else ""), f"  fix: {mixed.fix}"]
    if mixed.fixed_line:
        lines.append(f"    {mixed.fix_at}")
        lines.append(f"    + {mixed.fixed_line}")
    if mixed.tried:
        lines.append(f"    tried: {mixed.tried}")
    return "\n".join(lines)
