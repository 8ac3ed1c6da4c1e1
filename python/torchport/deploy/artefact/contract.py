"""The contract of an artefact: its inputs, its outputs and its needs, stored in it as JSON."""

from __future__ import annotations

import platform
from typing import Any

import torch

import torchport
from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.capture import input_shapes, output_values
from torchport.deploy.artefact.formats._format import ExportedModel, Format
from torchport.deploy.artefact.parity import Parity, eager
from torchport.deploy.artefact.prepare import Prepared

# Readers refuse a contract of a later version.
VERSION = 1


def describe(
    format_: Format,
    subject: ExportedModel,
    prepared: Prepared,
    *,
    weights: dict[str, Any],
    versions: dict[str, Any],
    parity: Parity,
    host: dict[str, Any],
    independent: bool | None,
    returns: str,
    content: list[dict[str, Any]],
) -> dict[str, Any]:
    """Returns the contract.

    ``independent`` says whether each row of a batch is computed alone, and ``returns`` is the form of
    the artefact's result. ``content`` lists the artefact's files with the hashes of their bytes, by which a
    damaged one is refused. A dimension is a number, the name of an axis that ``axes`` bounds, or a
    formula of such names. The contract has no time and no path, so that equal exports give equal
    contracts.
    """
    return {
        "contract": VERSION,
        "format": format_.name,
        "model": type(prepared.module).__qualname__,
        "inputs": _inputs(subject, prepared),
        "outputs": _outputs(subject, prepared, parity),
        "returns": {"model": prepared.form.text, "artefact": returns},
        "constants": prepared.sample.constants(prepared.module),
        "assumes": [*prepared.assumptions, *subject.assumptions],
        "axes": {
            name: {"minimum": axis.minimum, "maximum": axis.maximum}
            for name, axis in subject.axes.axes.items()
        },
        "rows_independent": independent,
        "dtype": _plain(prepared.dtype),
        "weights": weights,
        "content": content,
        "parity": parity.as_json(),
        "host": host,
        "versions": {
            "torchport": torchport.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            **versions,
        },
    }


def _inputs(subject: ExportedModel, prepared: Prepared) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": _plain(tensor.dtype),
            "shape": [
                subject.axes.of[name][at].name if at in subject.axes.of.get(name, {}) else size
                for at, size in enumerate(tensor.shape)
            ],
        }
        for name, tensor in prepared.sample.items()
    ]


def _outputs(subject: ExportedModel, prepared: Prepared, parity: Parity) -> list[dict[str, Any]]:
    if subject.program is not None:
        symbols = _symbols(subject, prepared)
        values = output_values(subject.program)
        shapes = [[_dimension(size, symbols) for size in value.shape] for value in values]
    else:
        values = eager(prepared.module, prepared.sample)[1]
        shapes = _seen(subject.axes, parity)
    return [
        {"name": name, "dtype": _plain(value.dtype), "shape": shape}
        for name, value, shape in zip(prepared.output_names, values, shapes, strict=True)
    ]


def _seen(axes: Axes, parity: Parity) -> list[list[int | str]]:
    """The output shapes for a format without a graph, derived from the batches of the comparison.

    A dimension that differed between batches is the axis that had the same size in each batch. If
    there is no such axis, it gets a name of its own.
    """
    sizes = [
        {axis.name: shapes[name][at] for name, of in axes.of.items() for at, axis in of.items()}
        for shapes in parity.batches
    ]

    def dimension(output: int, at: int) -> int | str:
        seen = [batch[output][at] for batch in parity.outputs]
        for name in axes.axes:
            if len(set(seen)) > 1 and seen == [size[name] for size in sizes]:
                return name
        return seen[0] if len(set(seen)) == 1 else f"varies_{output}_{at}"

    return [
        [dimension(output, at) for at in range(len(shape))]
        for output, shape in enumerate(parity.outputs[0])
    ]


def _symbols(subject: ExportedModel, prepared: Prepared) -> dict[str, str]:
    return {
        str(shape[at]): axis.name
        for name, shape in input_shapes(subject.graph, prepared)
        for at, axis in subject.axes.of.get(name, {}).items()
    }


def _dimension(size: Any, symbols: dict[str, str]) -> int | str:
    if isinstance(size, int):
        return size
    text = str(size)
    for symbol, name in symbols.items():
        text = text.replace(symbol, name)
    return text


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
