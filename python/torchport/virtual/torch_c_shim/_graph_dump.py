"""What a captured CUDA graph holds, as a DOT file: CUDAGraph.debug_dump().

The frame is that of cudaGraphDebugDotPrint(): a cluster of nodes that are numbered in the order of
the capture. A node is an operator with what it takes and makes, where a real graph has its kernels,
copies and fills. Arrows are the order of a stream, and the way of data from one stream to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchport.virtual.torch_c_shim._tape import Step

_KINDS = {"aten::copy_": "MEMCPY", "aten::_to_copy": "MEMCPY", "aten::zero_": "MEMSET"}


def dot(steps: list[Step], number: int = 1) -> str:
    name = f"graph_{number}"
    lines = ["digraph dot {", f"subgraph cluster_{number} {{"]
    lines.append(f'label="{name}" graph[style="dashed"];')
    for i, step in enumerate(steps):
        text = _escaped(f"{{{_kind(step)}\n| {{ID | {i}}}\n| {_described(step)}}}")
        lines.append(f'"{name}_node_{i}"[style="bold" shape="record" label="{text}"];')
    lines.append("")
    for first, second in sorted(_arrows(steps)):
        lines.append(f'"{name}_node_{first}" -> "{name}_node_{second}";')
    return "\n".join([*lines, "}", "}", ""])


def _arrows(steps: list[Step]) -> set[tuple[int, int]]:
    last_of_stream: dict[Any, int] = {}
    made_by: dict[int, int] = {}
    arrows = set()
    for i, step in enumerate(steps):
        if step.stream in last_of_stream:
            arrows.add((last_of_stream[step.stream], i))
        for view in _views(step):
            before = made_by.get(view.slot)
            if before is not None and steps[before].stream != step.stream:
                arrows.add((before, i))
        last_of_stream[step.stream] = i
        made_by.update({slot: i for _, slot in step.made})
    return arrows


def _views(step: Step) -> Iterator[Any]:
    return (value for value in step.arguments if hasattr(value, "slot"))


def _kind(step: Step) -> str:
    return _KINDS.get(_name(step), "KERNEL")


def _name(step: Step) -> str:
    schema = getattr(step.function, "_schema", None)
    return schema.name if schema is not None else getattr(step.function, "__name__", "kernel")


def _described(step: Step) -> str:
    shapes = []
    for value in step.arguments:
        if hasattr(value, "dtype"):
            size = value.size if hasattr(value, "slot") else value.size()
            shapes.append(f"{str(value.dtype).removeprefix('torch.')}{list(size)}")
    return f"{_name(step)}({', '.join(shapes)})\n| {{stream | {step.stream}}}"


def _escaped(text: str) -> str:
    for mark in '\\"<>':
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", "\\n")
