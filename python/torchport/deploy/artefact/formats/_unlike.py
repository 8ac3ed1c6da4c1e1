"""Names the operators of a graph that ONNX Runtime computes otherwise than torch for some inputs.

Seen with ONNX Runtime 1.31 on a CPU. The comparison with eager has no NaN, no infinity, no index that torch refuses
and no larger integers than the sample among its inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from torchport.deploy.artefact.user_lines import is_library

_MOST_OPERATORS = 4


def assumed(program: ExportedProgram) -> list[str]:
    """A text for each kind of inputs, with the operators and the first line of each."""
    found: dict[str, dict[str, str]] = {}
    inputs = frozenset(program.graph_signature.user_inputs)
    for node in _calls(program):
        name = node.target._schema.name.partition("::")[2].removesuffix("_")  # type: ignore[union-attr]
        for kind, has in _KINDS.items():
            if (which := has.get(name)) is not None and which(node, inputs):
                found.setdefault(kind, {}).setdefault(name, _line(node))
    return [
        f"{kind}: ONNX Runtime answers otherwise than torch in {_few(operators)}"
        for kind, operators in found.items()
    ]


def _few(operators: dict[str, str]) -> str:
    told = [f"{name} at {line}" if line else name for name, line in operators.items()]
    more = len(told) - _MOST_OPERATORS
    return ", ".join(told[:_MOST_OPERATORS]) + (f" and {more} more" if more > 0 else "")


def _calls(program: ExportedProgram) -> Iterator[fx.Node]:
    for module in program.graph_module.modules():
        if isinstance(module, fx.GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                    yield node


def _line(node: fx.Node) -> str:
    places = re.findall(r'File "([^"]+)", line (\d+)', node.stack_trace or "")
    own = [f"{Path(file).name}:{line}" for file, line in places if not is_library(file)]
    return own[-1] if own else ""


def _floating(node: fx.Node, _: frozenset[str]) -> bool:
    given = _value(node.args[0] if node.args else None)
    return isinstance(given, torch.Tensor) and given.is_floating_point()


def _one_bound(node: fx.Node, inputs: frozenset[str]) -> bool:
    bounds = [*node.args[1:], *node.kwargs.values()]
    return _floating(node, inputs) and sum(bound is not None for bound in bounds) == 1


def _divided(node: fx.Node, inputs: frozenset[str]) -> bool:
    return node.kwargs.get("rounding_mode") == "floor" and _floating(node, inputs)


def _integer(node: fx.Node, inputs: frozenset[str]) -> bool:
    """Whether the operator gets whole numbers that are computed from inputs."""
    tensors = [one for one in node.all_input_nodes if isinstance(_value(one), torch.Tensor)]
    whole = [one for one in tensors if not _value(one).is_floating_point()]
    wide = [one for one in whole if _value(one).dtype in (torch.int32, torch.int64)]
    return len(whole) == len(tensors) and any(_is_of_inputs(one, inputs) for one in wide)


def _integer_of_64_bits(node: fx.Node, inputs: frozenset[str]) -> bool:
    return _integer(node, inputs) and any(
        getattr(_value(one), "dtype", None) == torch.int64 for one in node.all_input_nodes
    )


def _rounded(node: fx.Node, inputs: frozenset[str]) -> bool:
    return node.kwargs.get("rounding_mode") is not None and _integer(node, inputs)


def _indexed_by(at: int) -> Callable[[fx.Node, frozenset[str]], bool]:
    """Whether the argument, the indices, is computed from values of inputs."""
    return lambda node, inputs: len(node.args) > at and _is_of_inputs(node.args[at], inputs)


def _is_of_inputs(start: Any, inputs: frozenset[str]) -> bool:
    left, seen = [start], set()
    while left:
        node = left.pop()
        if not isinstance(node, fx.Node) or node in seen:
            continue
        seen.add(node)
        if not isinstance(_value(node), (torch.Tensor, tuple, list)):
            continue  # a size
        if node.op == "placeholder" and node.name in inputs:
            return True
        left += node.all_input_nodes
    return False


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, fx.Node) else None


_Which = Callable[[fx.Node, frozenset[str]], bool]
_POOLS = [f"max_pool{n}d{more}" for n in (1, 2, 3) for more in ("", "_with_indices")]
_NAN = ["sign", "amax", "amin", "max", "min", "argmax", "argmin", "sort", "argsort", "topk", "atan2", *_POOLS,
        *(f"adaptive_max_pool{n}d" for n in (1, 2, 3))]  # fmt: skip
_KINDS: dict[str, dict[str, _Which]] = {
    "NaN": dict.fromkeys(_NAN, _floating),
    "infinities": {
        "clamp": _one_bound,
        "clamp_min": _floating,
        "clamp_max": _floating,
        "gelu": _floating,
        "atan2": _floating,
        "max_pool1d": _floating,
        "floor_divide": _floating,
        "div": _divided,
    },
    # The exporter divides them as float32, which has 24 bits.
    "integers beyond 2^24": {
        "div": _rounded,
        "floor_divide": _integer,
        "prod": _integer,
    },
    # ONNX Runtime has no kernels of 64 bits for them.
    "integers beyond 2^31": dict.fromkeys(
        ["sign", "sgn", "minimum", "maximum", "clamp", "clamp_min", "clamp_max"],
        _integer_of_64_bits,
    ),
    "integers beyond 2^53": dict.fromkeys(["fmod", "sum"], _integer_of_64_bits),
    "indices that torch refuses, such as -1": {
        "embedding": _indexed_by(1),
        "one_hot": _indexed_by(0),
        "index_select": _indexed_by(2),
        "gather": _indexed_by(2),
        "scatter": _indexed_by(2),
        "scatter_add": _indexed_by(2),
        "index_add": _indexed_by(2),
        "index_copy": _indexed_by(2),
        "embedding_bag": _indexed_by(1),
        "bincount": _indexed_by(0),
    },
}
