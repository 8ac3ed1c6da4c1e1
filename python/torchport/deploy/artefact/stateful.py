"""Refuses models whose results depend on their earlier calls: an artefact has no memory."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram, ExportGraphSignature
from torch.fx import Node

from torchport.deploy.artefact.errors import KeepsState
from torchport.deploy.artefact.held_values import same
from torchport.deploy.artefact.state import State
from torchport.deploy.artefact.user_lines import is_users

# How long a printed list of changed names gets.
_NAMED = 4
# Operators that replace all of their first argument.
_REPLACES = frozenset(
    ["aten.copy.default", "aten.copy_.default", "aten.zero_.default", "aten.fill_.Scalar",
     "aten.fill_.Tensor"]
)  # fmt: skip


def refuse_state(
    module: nn.Module,
    state: State,
    changed: list[str],
    first: list[torch.Tensor],
    *,
    between: Sequence[Callable[[], Any]],
    again: Callable[[], list[torch.Tensor]],
) -> None:
    """Raises KeepsState if a call gives another result after other calls have changed the model.

    It is called after a run within `kept` that gave ``first`` and changed ``changed``. ``between``
    calls the model with other inputs; its errors do not count. ``again`` repeats the first call.
    """
    for call in between:
        with contextlib.suppress(Exception):  # the model need not accept made-up inputs
            call()
    torch.manual_seed(0)
    second = again()
    if len(first) == len(second) and all(map(same, first, second)):
        return
    state.restore()
    where = _line_of_change(module, again, changed)
    raise KeepsState(_refusal(module, changed, where))


def _refusal(module: nn.Module, changed: list[str], where: str | None) -> str:
    named = ", ".join(changed[:_NAMED]) + (" ..." if len(changed) > _NAMED else "")
    first = changed[0].rpartition(".")[2]
    return (
        f"{type(module).__name__} keeps state: its forward changes {named}"
        f"{f', at {where}' if where else ''}, and the same inputs then give another result. An "
        f"artefact has no memory from one call to the next. Make {first} an argument of forward, "
        "and return its new value"
    )


def _line_of_change(module: nn.Module, call: Callable[[], Any], changed: list[str]) -> str | None:
    """The user's line that first changes one of the names, found by a run line by line."""
    state = State(module, parameters=False)
    wanted = set(changed)
    found: list[str] = []
    last: dict[FrameType, int] = {}

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        if not found and frame in last and wanted & set(state.changed()):
            found.append(f"{frame.f_code.co_filename}:{last[frame]}")
        last[frame] = frame.f_lineno
        return None if found or event == "return" else at_line

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        return at_line(frame, event, argument) if is_users(frame.f_code) else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        with contextlib.suppress(Exception):
            call()
    finally:
        sys.settrace(before)
    return found[0] if found else None


def refuse_state_of(program: ExportedProgram, module: nn.Module) -> None:
    """Raises KeepsState if an output of the graph depends on what was in a buffer that the graph
    changes. It follows the nodes in their order, and views to the buffers that they show.
    """
    signature = program.graph_signature
    buffers = dict(signature.inputs_to_buffers)
    shown: dict[Node, Node] = {}  # a view -> the placeholder whose memory it shows
    written = {name for name, buffer in buffers.items() if buffer in _mutated(signature)}
    for node in program.graph.nodes:
        source = _aliased(node)
        shown[node] = shown.get(source, node) if source is not None else node
        if (target := _written(node)) is not None:
            written.add(shown[target].name)
    # The buffers on whose first contents a node, or the memory of a placeholder, depends.
    origins: dict[Node, set[str]] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            known = node.name in buffers and node.name in written
            origins[node] = {buffers[node.name]} if known else set()
        elif node.op == "output":
            break
        else:
            _follow(node, shown, origins)
    for name in signature.user_outputs:
        node = next((node for node in program.graph.nodes if node.name == name), None)
        if node is not None and (found := origins[shown[node]] | origins[node]):
            raise KeepsState(_refusal(module, sorted(found), None))


def _follow(node: Node, shown: dict[Node, Node], origins: dict[Node, set[str]]) -> None:
    sources = list(node.all_input_nodes)
    target = _written(node)
    replaced = target is not None and shown[target] is target
    if str(node.target) in _REPLACES and (replaced or target is None):
        sources = sources[1:]
    found: set[str] = set()
    for source in sources:
        found |= origins[source] | origins[shown[source]]
    origins[node] = found
    if target is not None:
        kept_before = (
            set() if str(node.target) in _REPLACES and replaced else origins[shown[target]]
        )
        origins[shown[target]] = found | kept_before
        if shown[node] is node:
            shown[node] = shown[target]


def _mutated(signature: ExportGraphSignature) -> set[str]:
    return set(signature.buffers_to_mutate.values())


def _written(node: Node) -> Node | None:
    """The node whose memory an operator writes."""
    return _argument_with(node, lambda alias: alias.is_write)


def _aliased(node: Node) -> Node | None:
    """The node whose memory the result of an operator shows."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not any(result.alias_info for result in schema.returns):
        return None
    return _argument_with(node, lambda _: True)


def _argument_with(node: Node, holds: Callable[[Any], bool]) -> Node | None:
    schema = getattr(node.target, "_schema", None)
    for at, argument in enumerate(schema.arguments if schema is not None else ()):
        if argument.alias_info is not None and holds(argument.alias_info):
            value = node.args[at] if at < len(node.args) else node.kwargs.get(argument.name)
            return value if isinstance(value, Node) else None
    return None
