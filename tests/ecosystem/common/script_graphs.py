"""What TorchScript makes of a module's functions and classes, as texts in which no device occurs.

Two texts are equal if the graphs compute the same from the same inputs, wherever it happens: constants
that are devices are one word, and an operator that only moves a tensor is its input.
"""

from __future__ import annotations

import inspect
import itertools
import re
import types
import warnings
from typing import Any

import torch

MOVES = {"aten::cuda", "aten::cpu"}
UNSTEADY = {"warn_id"}  # counted by process
NOTHING = "NoneType()"
DEVICE = "DEVICE"


class Text:
    """Writes the nodes of a graph, with values numbered in the order of their use."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._values: dict[str, str] = {}
        self._count = itertools.count()

    def name(self, value: Any) -> str:
        known = self._values.get(value.debugName())
        return known or self._values.setdefault(value.debugName(), f"%{next(self._count)}")

    def is_move(self, node: Any) -> bool:
        """Whether `x.cuda()` or `x.to(device)` names nothing but the device."""
        if node.kind() in MOVES:
            return True
        if node.kind() != "aten::to" or "aten::to.prim_Device" not in node.schema():
            return False
        dtype = list(node.inputs())[2]
        return self.name(dtype) == NOTHING

    def block(self, block: Any, depth: int) -> None:
        for node in block.nodes():
            self.node(node, depth)
        self.lines.append(" " * depth + "-> " + self.joined(block.outputs()))

    def joined(self, values: Any) -> str:
        return ", ".join(self.name(value) for value in values)

    def arguments(self, node: Any) -> list[str]:
        """What a node takes; a device that is left out is a device, too."""
        named = torch._C.parse_schema(node.schema()).arguments if "::" in node.schema() else []
        places = {index for index, argument in enumerate(named) if argument.name == "device"}
        return [
            DEVICE if index in places else self.name(value)
            for index, value in enumerate(node.inputs())
        ]

    def node(self, node: Any, depth: int) -> None:
        kind, outputs = node.kind(), list(node.outputs())
        if kind == "prim::Constant":
            self._values[outputs[0].debugName()] = constant(node)
        elif all(str(output.type()) == "Device" for output in outputs) and outputs:
            self._values[outputs[0].debugName()] = DEVICE
        elif self.is_move(node):
            self._values[outputs[0].debugName()] = self.name(next(node.inputs()))
        else:
            named = [name for name in node.attributeNames() if name not in UNSTEADY]
            attributes = [f"{name}={attribute(node, name)}" for name in named]
            line = f"{self.joined(outputs)} = {kind}[{', '.join(attributes)}]"
            self.lines.append(" " * depth + line + f"({', '.join(self.arguments(node))})")
            for inner in node.blocks():
                self.block(inner, depth + 1)


def attribute(node: Any, name: str) -> str:
    kind = node.kindOf(name)
    if kind in ("g", "gs"):
        return "graph"
    value = getattr(node, kind)(name)
    return f"tensor{tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def constant(node: Any) -> str:
    output = node.output()
    if str(output.type()) in ("Device", "Device?"):
        return DEVICE
    if not node.attributeNames():
        return f"{output.type()}()"
    return f"{output.type()}({attribute(node, 'value')})"


def text_of(graph: Any) -> str:
    # Classes made twice in one process get other names.
    text = Text()
    text.lines.append("graph(" + text.joined(graph.inputs()) + ")")
    text.block(graph, 1)
    return re.sub(r"___torch_mangle_\d+\.", "", "\n".join(text.lines))


def texts_of(scripted: Any) -> str:
    """The graphs of a function, or of all methods of a module."""
    if isinstance(scripted, torch.jit.ScriptFunction):
        return text_of(scripted.inlined_graph)
    methods = [scripted._c._get_method(name) for name in sorted(scripted._c._method_names())]
    return "\n".join(f"{method.name}: {text_of(method.inlined_graph)}" for method in methods)


def is_plain(parameter: inspect.Parameter) -> bool:
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return variadic or parameter.default is not parameter.empty


def is_constructible(cls: type) -> bool:
    """Whether a class may be called without arguments."""
    try:
        return all(map(is_plain, inspect.signature(cls).parameters.values()))
    except (TypeError, ValueError):
        return False


def is_candidate(value: Any, module: types.ModuleType) -> bool:
    if isinstance(value, (torch.jit.ScriptFunction, torch.jit.ScriptModule)):
        return True
    if getattr(value, "__module__", None) != module.__name__:
        return False
    if isinstance(value, types.FunctionType):
        return value.__name__ != "<lambda>"
    return (
        isinstance(value, type) and issubclass(value, torch.nn.Module) and is_constructible(value)
    )


def candidates(module: types.ModuleType) -> dict[str, Any]:
    """What of a module can be given to torch.jit.script, by name."""
    return {name: value for name, value in vars(module).items() if is_candidate(value, module)}


def script(value: Any) -> str:
    """The text of what torch.jit.script makes of a function or of an instance of a class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(value, (torch.jit.ScriptFunction, torch.jit.ScriptModule)):
            return texts_of(value)
        torch.manual_seed(0)
        return texts_of(torch.jit.script(value() if isinstance(value, type) else value))
