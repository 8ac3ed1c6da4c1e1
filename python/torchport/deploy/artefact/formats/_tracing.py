"""Finds what a trace takes for constant although it depends on the inputs: what Python reads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.jit._trace import TracerWarning
from torch.overrides import TorchFunctionMode

from torchport.deploy.artefact.threads import in_other_threads
from torchport.deploy.artefact.user_lines import line_here

# Functions that make a Python value of a tensor -> what becomes constant.
_READS = {
    "__bool__": "branches on",
    "is_nonzero": "branches on",
    "equal": "branches on",
    "allclose": "branches on",
    "__contains__": "branches on",
    "__int__": "makes a Python number of",
    "__float__": "makes a Python number of",
    "__complex__": "makes a Python number of",
    "__index__": "makes a Python number of",
    "item": "makes a Python number of",
    "tolist": "makes a Python list of",
    "numpy": "makes a NumPy array of",
    "__array__": "makes a NumPy array of",
}
# Functions that run Python on each element of a tensor; a trace has nothing of it.
_BY_ELEMENT = frozenset(["apply_", "map_", "map2_"])
_SIZES = frozenset(["aten::size", "aten::dim", "aten::len", "aten::numel"])
_SIZED_BY_VALUES = frozenset(
    ["aten::nonzero", "aten::nonzero_numpy", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
     "aten::unique_consecutive", "aten::bincount", "aten::repeat_interleave", "torchvision::nms"]
)  # fmt: skip
_TORCHS = "torch's code"  # in place of a line, if no line of the model calls it
_OF_THE_MODEL = frozenset(["prim::GetAttr", "prim::TracedAttr"])


@dataclass
class Reads:
    """What the Python of a model reads while it is traced; each entry has the user's line.

    ``values`` depend on the values of inputs, and ``sizes`` only on their sizes. ``warnings`` are
    other warnings of the tracer. ``elements`` are lines that run Python on each element.
    """

    values: dict[str, str] = field(default_factory=dict)  # line -> words
    sizes: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)


@contextmanager
def inlined_functions() -> Iterator[None]:
    """Calls the forward of a torch.autograd.Function in place of its ``apply``: a trace would keep a
    call of Python. Without gradients the results are the same.
    """
    applied = torch.autograd.Function.__dict__["apply"]

    def apply(kind: Any, *args: Any, **kwargs: Any) -> Any:
        if kind.setup_context is not torch.autograd.Function.setup_context:
            return kind.forward(*args, **kwargs)
        return kind.forward(_Context(), *args, **kwargs)

    setattr(torch.autograd.Function, "apply", classmethod(apply))  # noqa: B010 - a method
    try:
        yield
    finally:
        setattr(torch.autograd.Function, "apply", applied)  # noqa: B010


class _Context:
    """What a forward stores for its backward, which is not traced."""

    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: torch.Tensor) -> None: ...
    def save_for_forward(self, *tensors: torch.Tensor) -> None: ...
    def mark_dirty(self, *tensors: torch.Tensor) -> None: ...
    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None: ...
    def set_materialize_grads(self, value: bool) -> None: ...


@contextmanager
def watched_reads() -> Iterator[Reads]:
    """Collects the reads of the trace that is made in the block, and silences torch's warnings."""
    reads = Reads()
    with (
        warnings.catch_warnings(),
        in_other_threads(lambda: _Watch(reads, is_traced=False)),
        _Watch(reads),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TracerWarning)
        warnings.showwarning = lambda message, *_, **__: _note(reads, message)
        yield reads


def _note(reads: Reads, message: Warning | str) -> None:
    """Keeps a warning, unless the line is known to read something."""
    line = line_here() or _TORCHS
    text = str(message).partition(". ")[0]
    if line not in reads.values and line not in reads.sizes:
        kept = reads.sizes if "len to get" in text or "Iterating over" in text else reads.warnings
        kept.setdefault(line, f"made the tracer warn: {text[:1].lower()}{text[1:]}")


class _Watch(TorchFunctionMode):
    """Only one thread ``is_traced``: what others compute is a constant of the trace."""

    def __init__(self, reads: Reads, is_traced: bool = True):
        super().__init__()
        self._reads = reads
        self._is_traced = is_traced

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func == torch.Tensor.data.__get__:  # type: ignore[attr-defined]
            return args[0].detach()  # the same memory, and the trace knows where it is from
        name = getattr(func, "__name__", "")
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        if name in _BY_ELEMENT and not (self._is_traced and all(map(_is_constant, tensors))):
            line = line_here() or _TORCHS
            self._reads.elements.setdefault(
                line, f"runs Python on each element of a tensor ({name})"
            )
        if (words := _READS.get(name)) is not None:
            found = self._sources(tensors)
            line = line_here() or _TORCHS
            if "values" in found:
                where = "" if self._is_traced else ", in another thread"
                self._reads.values.setdefault(line, f"{words} values of the inputs{where}")
            elif "sizes" in found:
                self._reads.sizes.setdefault(line, f"{words} sizes of the inputs")
        return func(*args, **(kwargs or {}))

    def _sources(self, tensors: list[torch.Tensor]) -> set[str]:
        """What the tensors are computed from. Of other threads the trace does not know it, so that all but
        parameters count."""
        if self._is_traced:
            return {_depends_on(tensor) for tensor in tensors}
        return {"" if isinstance(one, torch.nn.Parameter) else "values" for one in tensors}


def _is_constant(tensor: torch.Tensor) -> bool:
    try:
        torch._C._get_value_trace(tensor)  # type: ignore[attr-defined]
    except RuntimeError:
        return True
    return False


def _depends_on(tensor: torch.Tensor) -> str:
    """What a traced tensor is computed from: "values" of inputs, only their "sizes", or ""."""
    try:
        start = torch._C._get_value_trace(tensor)  # type: ignore[attr-defined]
    except RuntimeError:  # it is a constant of the trace
        return ""
    found = ""
    seen = set()
    left = [(start, False)]
    while left:
        value, only_its_size = left.pop()
        if (value.unique(), only_its_size) in seen:
            continue
        seen.add((value.unique(), only_its_size))
        node = value.node()
        if node.kind() == "prim::Param":
            if value.type().kind() == "ClassType":
                continue
            if not only_its_size:
                return "values"
            found = "sizes"
        elif node.kind() not in _OF_THE_MODEL and not (only_its_size and _is_scalar(value)):
            of_size = node.kind() in _SIZES or (only_its_size and not _has_values_in_size(node))
            left += [(source, of_size) for source in node.inputs()]
    return found


def _is_scalar(value: Any) -> bool:
    return bool(value.type().kind() == "TensorType" and value.type().dim() == 0)


def _has_values_in_size(node: Any) -> bool:
    """Whether the size of the node's result depends on the values of its inputs."""
    if node.kind() != "aten::index":
        return node.kind() in _SIZED_BY_VALUES
    lists = [
        value.node() for value in node.inputs() if value.node().kind() == "prim::ListConstruct"
    ]
    return any(
        value.type().kind() == "TensorType" and value.type().scalarType() in ("Bool", "Byte")
        for made in lists
        for value in made.inputs()
    )
