"""Finds the first node of a graph at which an artefact differs from its model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import fx
from torch.export import ExportedProgram

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options
from torchport.deploy.artefact.parity import compare
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.tolerance import Tolerance


def first_difference(
    format_: Format,
    program: ExportedProgram,
    sample: Sample,
    options: Options,
    tolerance: Tolerance,
    tell: Callable[[str], None],
) -> str | None:
    """Names the first node whose value differs on ``sample``, with its operator, module and line.

    The search cuts the graph after a node, and exports and runs the part before the cut. It needs
    log2(number of nodes) exports. It returns None if no cut differs: then the difference comes from
    the format's compiler, which combines nodes.
    """
    module = program.module()
    nodes = [node for node in module.graph.nodes if _is_comparable(node)]
    device = sample.tensors[0].device

    def differs(index: int) -> bool:
        tell(
            f"searching for the first wrong node: {nodes[index].name}, {index + 1} of {len(nodes)}"
        )
        try:
            return _differs(format_, _cut(module, nodes[index]), sample, device, options, tolerance)
        except ExportError as error:
            tell(f"cut after {nodes[index].name}: {error}")
            return False

    low, high = 0, len(nodes) - 1
    if not nodes or not differs(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if differs(middle):
            high = middle
        else:
            low = middle + 1
    return _describe(nodes[low])


def _is_comparable(node: fx.Node) -> bool:
    return node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor)


def _cut(module: fx.GraphModule, last: fx.Node) -> fx.GraphModule:
    """The part of the graph up to a node, whose value becomes the output."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        if node.op == "call_module" and "guards" in str(node.target):
            continue  # checks the inputs of the whole program
        if node.op != "output":
            copies[node] = graph.node_copy(node, copies.__getitem__)
        if node is last:
            break
    graph.output(copies[last])
    cut = fx.GraphModule(module, graph)
    cut.graph.eliminate_dead_code()
    cut.recompile()
    return cut


def _differs(
    format_: Format,
    cut: fx.GraphModule,
    sample: Sample,
    device: torch.device,
    options: Options,
    tolerance: Tolerance,
) -> bool:
    leaves = torch.utils._pytree.tree_leaves((sample.args, sample.kwargs))
    names = tuple(node.name for node in cut.graph.nodes if node.op == "placeholder")
    names = tuple(n for n, leaf in zip(names, leaves, strict=True) if torch.is_tensor(leaf))
    flat = Sample(tuple(leaves), {}, names, names)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        expected = cut(*leaves)
        program = torch.export.export(cut, tuple(leaves)) if format_.needs_program else None
        subject = ExportedModel(cut, flat, ["output"], Axes(flat, ()), device, program)
        path = Path(folder, f"cut{format_.suffix}")
        format_.write(subject, path, options)
        run, _ = format_.runner(subject, path)
        return any(d.wrong for d in compare(["output"], [expected], run(flat), tolerance))


def _describe(node: fx.Node) -> str:
    words = [f"{node.name} ({node.target})"]
    stack = node.meta.get("nn_module_stack")
    if stack:
        path = list(stack.values())[-1][0]
        words.append(f"in {path.removeprefix('L[self].') or 'the model'}")
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    places = [line for line in lines if line.startswith("File ")]
    if places:
        words.append(f"at {places[-1].removeprefix('File ')}")
    return ", ".join(words)
