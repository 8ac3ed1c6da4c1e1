"""Runs torch.export on a prepared model with dynamic axes, and rewords its errors."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch._dynamo.exc import UserError
from torch.export import ExportedProgram
from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.prepare import Prepared
from torchport.deploy.artefact.quiet import quiet
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.state import kept
from torchport.deploy.artefact.stateful import refuse_state_of
from torchport.deploy.artefact.user_lines import is_library, line_of_error

_TRIES = 3
# They print graphs and stacks beside the exception that is raised.
_TALKATIVE = ("torch.fx.experimental.symbolic_shapes", "torch.export")


def capture(prepared: Prepared, axes: Axes) -> ExportedProgram:
    """Captures the model as a graph. If the model limits an axis (a table of 1024 positions), the
    axis gets this bound. Raises ExportError if the model fixes an axis to one size.
    """
    # torch.export takes size 1 for a constant.
    sizes = {
        name: max(size, 2, axes.axes[name].minimum)
        for name, size in axes.sizes(prepared.sample).items()
    }
    sample = axes.resized(prepared.sample, sizes)
    shapes = axes.dynamic_shapes(sample)
    for _ in range(_TRIES):
        try:
            program = _export(prepared, sample, shapes)
            refuse_state_of(program, prepared.module)
            return _narrowed(program, prepared, axes)
        except ExportError:
            raise
        except UserError as error:
            shapes = _refined(error, shapes)
        except Exception as error:
            raise ExportError(_summary_of(error)) from error
    raise ExportError(
        "torch.export suggests different bounds for the dynamic axes at each attempt; give the range "
        "of sizes: --dynamic 'NAME:AXIS=LABEL[16..512]'"
    )


def _export(prepared: Prepared, sample: Sample, shapes: Any) -> ExportedProgram:
    with torch.no_grad(), kept(prepared.module), quiet(*_TALKATIVE):
        return torch.export.export(
            prepared.module, sample.args, sample.kwargs, dynamic_shapes=shapes
        )


def _refined(error: UserError, shapes: Any) -> Any:
    text = str(error)
    if shapes is None or "Suggested fixes:" not in text:
        raise ExportError(_summary_of(error)) from error
    before, _, fixes = text.partition("Suggested fixes:")
    fixes = fixes.strip().partition("\n\n")[0]
    if fixed := re.search(r"^\s*(\w+) = (\d+)\s*$", fixes, re.MULTILINE):
        raise ExportError(
            f"axis {fixed[1]} cannot vary: the model fixes it to {fixed[2]}. Leave it out of "
            "dynamic (--dynamic), or change the code that computes with its size as a Python number"
        ) from error
    return refine_dynamic_shapes_from_suggested_fixes(f"{before}Suggested fixes:\n{fixes}", shapes)


def _narrowed(program: ExportedProgram, prepared: Prepared, axes: Axes) -> ExportedProgram:
    """Copies the bounds that the capture found into ``axes``."""
    bounds = {
        str(symbol): (range_.lower, range_.upper)
        for symbol, range_ in program.range_constraints.items()
    }
    for name, shape in input_shapes(program, prepared):
        for at, axis in axes.of.get(name, {}).items():
            found = bounds.get(str(shape[at]))
            if found is None:
                continue
            axis.minimum = max(axis.minimum, int(found[0]))
            upper = _finite(found[1])
            if upper is not None and upper != axis.maximum:
                prepared.notes.append(f"axis {axis.name} is at most {upper}: the model limits it")
                axis.maximum = upper
    return program


def _finite(bound: Any) -> int | None:
    try:
        value = int(bound)
    except (OverflowError, TypeError, ValueError, AttributeError):
        return None
    return value if value < 1 << 60 else None


def input_shapes(program: ExportedProgram, prepared: Prepared) -> list[tuple[str, torch.Size]]:
    users = set(program.graph_signature.user_inputs)
    values = [
        node.meta["val"].shape
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in users and hasattr(node.meta["val"], "shape")
    ]
    return list(zip(prepared.sample.names, values, strict=True))


def output_values(program: ExportedProgram) -> list[torch.Tensor]:
    """The tensor outputs of the program as torch.export describes them, without values."""
    nodes = {node.name: node for node in program.graph.nodes}
    return [
        nodes[name].meta["val"] for name in program.graph_signature.user_outputs if name in nodes
    ]


def _summary_of(error: Exception) -> str:
    text = str(error).strip()
    line = line_of_error(error.__traceback__)
    if line is None:
        named = re.findall(r'File "([^"]+)", line (\d+)', text)
        own = [":".join(place) for place in named if not is_library(place[0])]
        line = own[-1] if own else None
    where = f", at {line}" if line else ""
    parts = [part for part in text.splitlines() if part.strip()]
    first = parts[0] if parts else ""
    unmet = [part.strip() for part in parts if part.strip().startswith("- Not all values of")]
    if unmet:
        return (
            "\n  ".join(["the model does not accept every size of a dynamic axis:", *unmet])
            + "\nGive the range of sizes: --dynamic 'NAME:AXIS=LABEL[16..512]'"
        )
    advice = ""
    if "data-dependent" in text.lower() or "GuardOnDataDependent" in type(error).__name__:
        advice = (
            "\nThe model's Python branches on values of tensors. Use torch.cond or torch.where there, "
            "or torch._check for facts about the values; or export with to='torchscript', "
            "script=True (--to torchscript --script)"
        )
    return (
        f"torch.export cannot capture the model{where}:\n  {type(error).__name__}: {first}{advice}"
    )
