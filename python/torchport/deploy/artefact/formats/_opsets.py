"""Opsets below those of torch's exporter, by ONNX's own version converter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torchport.deploy.artefact.errors import ExportError

# torch.onnx's exporter writes this opset and later ones.
LEAST_OF_EXPORTER = 18
_LEAST = 13
# The largest protobuf message; the converter works on one.
_MOST_BYTES = (1 << 31) - 1
_DEFAULTS = {("noop_with_empty_axes", 0), ("allowzero", 0), ("training_mode", 0), ("layout", 0)}
# Their default is another one in an earlier opset.
_OF_OTHER_MEANING = {"RoiAlign"}
# The domain of operators while they are hidden from the converter.
_UNCHANGED = "torchport.unchanged"


def converted(model: Any, opset: int) -> bytes:
    """The model (an onnx.ModelProto of opset 18, which is changed) in an earlier opset, checked by
    ONNX's checker with shape inference.

    Raises ExportError, which names the operator, if there is no conversion.
    """
    if not _LEAST <= opset < LEAST_OF_EXPORTER:
        raise ExportError(
            f"--opset {opset}: the opsets are {_LEAST} to {LEAST_OF_EXPORTER} and those that the "
            "installed exporter writes"
        )
    if model.ByteSize() > _MOST_BYTES:
        raise ExportError(
            f"--opset {opset}: the converter of opsets takes models up to 2 GB; use --opset "
            f"{LEAST_OF_EXPORTER} or later"
        )
    try:
        earlier = _in_opset(model, opset)
    except Exception as error:
        raise ExportError(
            f"the model cannot be written in opset {opset}: {_reason(str(error))}. Use --opset "
            f"{_next_that_works(model, opset)}"
        ) from error
    return bytes(earlier.SerializeToString())


def _in_opset(model: Any, opset: int) -> Any:
    """The converted copy. The converter has adapters for few operators, also where the operator is
    the same in both opsets but for the dtypes that it takes; it does not get to see those.
    """
    import onnx.inliner
    from onnx import version_converter

    later = {node.op_type for node in _nodes(model.graph) if _is_later(node, opset)}
    copy = onnx.inliner.inline_selected_functions(
        model, [("", name) for name in sorted(later)], inline_schema_functions=True
    )
    zeros = _shapes_with_zeros(copy.graph)
    for node in _nodes(copy.graph):
        _drop_defaults(node, zeros)
        if _is_in(node, opset):
            node.domain = _UNCHANGED
    copy.opset_import.append(onnx.helper.make_opsetid(_UNCHANGED, 1))
    earlier = version_converter.convert_version(copy, opset)
    for node in _nodes(earlier.graph):
        if node.domain == _UNCHANGED:
            node.domain = ""
    kept = [entry for entry in earlier.opset_import if entry.domain != _UNCHANGED]
    del earlier.opset_import[:]
    earlier.opset_import.extend(kept)
    onnx.checker.check_model(earlier, full_check=True)
    return earlier


def _nodes(graph: Any) -> Iterator[Any]:
    """All nodes, also those of branches and loops."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


def _is_in(node: Any, opset: int) -> bool:
    """Whether an operator has the node's attributes and inputs in the opset."""
    import onnx

    if node.domain or node.op_type in _OF_OTHER_MEANING:
        return False
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, "")
    except onnx.defs.SchemaError:
        return False
    known = all(attribute.name in schema.attributes for attribute in node.attribute)
    return bool(known and len(node.input) <= schema.max_input)


def _is_later(node: Any, opset: int) -> bool:
    """Whether the opset does not have the operator."""
    import onnx

    try:
        onnx.defs.get_schema(node.op_type, opset, node.domain)
    except onnx.defs.SchemaError:
        return not node.domain
    return False


def _shapes_with_zeros(graph: Any) -> set[str]:
    """The constants of integers that have a zero: as a shape, allowzero gives it a meaning."""
    from onnx import numpy_helper

    tensors = {one.name: one for one in graph.initializer}
    for node in _nodes(graph):
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            tensors[node.output[0]] = node.attribute[0].t
    return {
        name
        for name, one in tensors.items()
        if len(one.dims) == 1 and one.data_type == one.INT64 and 0 in numpy_helper.to_array(one)
    }


def _drop_defaults(node: Any, zeros: set[str]) -> None:
    """Removes attributes that earlier opsets do not have, and that have no effect here."""
    for attribute in list(node.attribute):
        # Without num_outputs an operator has as many parts of equal size as outputs. No axis of an
        # artefact has size 0.
        if (
            (attribute.name, attribute.i) in _DEFAULTS
            or attribute.name == "num_outputs"
            or (attribute.name == "allowzero" and node.input[1] not in zeros)
        ):
            node.attribute.remove(attribute)


def _next_that_works(model: Any, below: int) -> int:
    """The lowest opset above ``below`` that the model can be written in."""
    for opset in range(below + 1, LEAST_OF_EXPORTER):
        try:
            _in_opset(model, opset)
            return opset
        except Exception:
            continue
    return LEAST_OF_EXPORTER


def _reason(text: str) -> str:
    for pattern, words in (
        (r"No Previous Version of (\w+) exists", "{} is an operator of a later opset"),
        (
            r"No Adapter (?:From|To) Version \$(?:\d+) for (\w+)",
            "ONNX's converter has no way for {}",
        ),
        (r"Unrecognized attribute: (\w+ for operator \w+)", "the opset has no attribute {}"),
    ):
        if found := re.search(pattern, text):
            return words.format(found[1])
    return next((line for line in text.splitlines() if line.strip()), "ONNX's converter fails")
