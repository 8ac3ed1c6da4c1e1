"""One operator and dtype of the database, on the CPU and on cuda:0."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from compare import PLACED, UNINITIALIZED, Outcome, attempt, outcomes, results
from database import operators
from devices import Mover, tensors_of
from gradients import gradients

MAX_SAMPLES = 48
SEED = 20


class Call:
    """A sample's arguments on one device, and what came of them."""

    def __init__(self, device: str, sample: Any) -> None:
        self.mover = Mover(device)
        self.input, self.args, self.kwargs = self.mover(
            (sample.input, list(sample.args), dict(sample.kwargs))
        )
        # Before the call: `out=` and in-place variants may change what is a leaf.
        self.inputs = list(self.mover.leaves)
        self.differentiable = [t for t in self.inputs if t.requires_grad]

    def run(self, function: Callable[..., Any], **more: Any) -> Outcome:
        torch.manual_seed(SEED)
        with nullcontext() if self.inputs else torch.device(self.mover.device):
            return attempt(lambda: function(self.input, *self.args, **self.kwargs, **more))


def _pair(sample: Any) -> tuple[Call, Call]:
    return Call("cpu", sample), Call("cuda:0", sample)


def _check(
    host: Call, device: Call, a: Outcome, b: Outcome, *, values: bool, close: bool = False
) -> list[str]:
    found = outcomes(a, b)
    if found is not None:
        return found
    found = results(a.value, b.value, host.inputs, device.inputs, values=values, close=close)
    # What the call did to its arguments.
    return found or [
        f"argument {text}"
        for text in results(
            host.inputs, device.inputs, host.inputs, device.inputs, values=values, close=close
        )
    ]


def _gradients(call: Call, outputs: list[torch.Tensor], create_graph: bool) -> Outcome:
    generator = torch.Generator().manual_seed(SEED)
    weights = []
    for tensor in outputs:
        weight = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        weights.append(weight.to(tensor.dtype).to(tensor.device))
        if create_graph:
            weights[-1].requires_grad_()
    torch.manual_seed(SEED)
    return attempt(
        lambda: gradients(outputs, call.differentiable, weights, create_graph=create_graph)
    )


def _backward(
    sample: Any, host: Call, device: Call, a: Any, b: Any, *, twice: bool, close: bool
) -> Iterator[str]:
    def outputs(value: Any) -> list[torch.Tensor]:
        value = sample.output_process_fn_grad(value)
        return [t for t in tensors_of(value) if t.requires_grad and t.layout == torch.strided]

    x, y = outputs(a), outputs(b)
    if not x or not host.differentiable:
        return
    first, second = _gradients(host, x, twice), _gradients(device, y, twice)
    found = outcomes(first, second)
    if found is None:
        found = results(first.value, second.value, [], [], close=close)
    yield from (f"backward.{text}" for text in found)
    if not twice or found or first.error is not None:
        return
    x, y = ([g for g in tensors_of(o.value) if g.requires_grad] for o in (first, second))
    if not x:
        return
    first, second = _gradients(host, x, False), _gradients(device, y, False)
    found = outcomes(first, second)
    if found is None:
        found = results(first.value, second.value, [], [], close=close)
    yield from (f"double backward.{text}" for text in found)


def _forward(op: Any, sample: Any, *, grad: bool, twice: bool) -> Iterator[str]:
    values = op.name not in UNINITIALIZED
    host, device = _pair(sample)
    a, b = host.run(op.get_op()), device.run(op.get_op())
    found = _check(host, device, a, b, values=values, close=op.name in PLACED)
    yield from (f"forward.{text}" for text in found)
    if grad and not found and a.error is None:
        yield from _backward(
            sample, host, device, a.value, b.value, twice=twice, close=op.name in PLACED
        )


def _in_place(op: Any, sample: Any) -> Iterator[str]:
    function = op.get_inplace()
    if function is None or op.name in UNINITIALIZED:
        return
    host, device = _pair(sample)
    with torch.no_grad():
        a, b = host.run(function), device.run(function)
        yield from (f"in-place.{t}" for t in _check(host, device, a, b, values=True))


def _out(op: Any, sample: Any) -> Iterator[str]:
    """Into memory of the right size, with odd strides, and into memory of none."""
    host, device = _pair(sample)
    with torch.no_grad():
        wanted = host.run(op.get_op())
        if wanted.error is not None or not tensors_of(wanted.value):
            return
        if any(t.layout != torch.strided for t in tensors_of(wanted.value)):
            return
    makers = {
        "out": lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).zero_(),
        "out, transposed": lambda t: torch.zeros(t.shape[::-1], dtype=t.dtype).permute(
            tuple(range(t.dim() - 1, -1, -1))
        ),
        "out, resized": lambda t: torch.empty(0, dtype=t.dtype),
    }
    for name, make in makers.items():
        host, device = _pair(sample)
        into = torch.utils._pytree.tree_map(
            lambda t, make=make: make(t) if isinstance(t, torch.Tensor) else t, wanted.value
        )
        if isinstance(into, tuple):
            into = tuple(into)
        with torch.no_grad():
            a_out, b_out = host.mover(into), device.mover(into)
            a, b = host.run(op.get_op(), out=a_out), device.run(op.get_op(), out=b_out)
            host.inputs, device.inputs = host.mover.leaves, device.mover.leaves
            values = op.name not in UNINITIALIZED
            yield from (
                f"{name}.{t}"
                for t in _check(host, device, a, b, values=values, close=op.name in PLACED)
            )


def _errors(op: Any) -> Iterator[str]:
    if op.error_inputs_func is None:
        return
    for error in op.error_inputs("cpu"):
        host, device = _pair(error.sample_input)
        a, b = host.run(op.get_op()), device.run(op.get_op())
        found = outcomes(a, b)
        yield from (f"error input.{t}" for t in found or [])
    # What PyTorch's own tests expect of CUDA.
    for error in op.error_inputs("cuda:0"):
        if not error.error_regex:  # of Python's own numbers, whatever the device
            continue
        sample = error.sample_input
        torch.manual_seed(SEED)
        end = attempt(
            lambda sample=sample: op.get_op()(sample.input, *sample.args, **sample.kwargs)
        )
        if end.error is None:
            yield f"error input of cuda.does not raise: {error.error_regex}"[:200]
        elif not isinstance(end.error, error.error_type):
            yield f"error input of cuda.type: {type(end.error).__name__}: {end.error}"[:300]
        elif not re.search(error.error_regex, str(end.error)):
            yield f"error input of cuda.text: {error.error_regex} and {end.error}"[:400]


def differences(name: str, dtype: str) -> Iterator[str]:
    """What is not alike, as `where.what: detail`; at most a few of one operator."""
    op = operators()[name]
    kind = getattr(torch, dtype)
    grad = op.supports_autograd and kind in op.supported_backward_dtypes("cpu")
    torch.manual_seed(SEED)
    samples = op.sample_inputs("cpu", kind, requires_grad=grad)
    for index, sample in enumerate(itertools.islice(samples, MAX_SAMPLES)):
        twice = grad and op.supports_gradgrad and index < 4
        yield from _forward(op, sample, grad=grad, twice=twice)
        if index < 12:
            yield from _in_place(op, sample)
        if op.supports_out and index < 6:
            yield from _out(op, sample)
    if dtype == "float32":
        yield from _errors(op)
