"""Calls of frequent signatures borrow their arguments; all others take them from a stack. The answers
of both ways are the same, and neither keeps anything.

While any stream is captured, all calls go by the stack.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]
aten = torch.ops.aten


@contextmanager
def by_the_stack() -> Iterator[None]:
    """Another thread captures a graph meanwhile."""
    begun, done = threading.Event(), threading.Event()

    def capture() -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            graph.capture_begin(capture_error_mode="thread_local")
            begun.set()
            done.wait()
            torch.empty(1, device="cuda")
            graph.capture_end()

    thread = threading.Thread(target=capture)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def numbers(*sizes: int, first: float = -1.0, dtype: torch.dtype = torch.float32) -> Tensor:
    count = torch.Size(sizes).numel()
    return torch.linspace(first, 1.5, count, dtype=dtype).view(sizes).to("cuda")


def views_of_one() -> Pair:
    whole = numbers(5, 4)
    return whole[:3], whole[1:4]


def twice() -> Pair:
    one = numbers(3, 4)
    return one, one


def copied_on_write() -> Pair:
    one = numbers(3, 4)
    return torch._lazy_clone(one), one


ARGUMENTS: dict[str, Callable[[], Pair]] = {
    "plain": lambda: (numbers(3, 4), numbers(3, 4, first=0.5)),
    "the same twice": twice,
    "overlapping views": views_of_one,
    "copied on write": copied_on_write,
    "transposed, with an offset": lambda: (numbers(4, 3).t(), numbers(5, 8)[1:4, 2:6]),
    "expanded": lambda: (numbers(3, 1).expand(3, 4), numbers(3, 4)),
    "conjugate": lambda: (numbers(3, 4, dtype=torch.complex64).conj(), numbers(3, 4)),
    "negative": lambda: (numbers(3, 4, dtype=torch.complex64).conj().imag, numbers(3, 4)),
    "zeros without memory": lambda: (
        numbers(3, 4),
        torch._efficientzerotensor((3, 4), device="cuda"),  # type: ignore[call-overload]
    ),
    "a number of the host": lambda: (numbers(3, 4), torch.tensor(2.5, dtype=torch.float64)),
    "the host first": lambda: (torch.ones(3, 4), numbers(3, 4)),
    "two devices": lambda: (numbers(3, 4), numbers(3, 4).to("cuda:1")),
    "the second device": lambda: (numbers(3, 4).to("cuda:1"), numbers(3, 4).to("cuda:1")),
    "half": lambda: (numbers(3, 4).half(), numbers(3, 4)),
    "integers": lambda: (numbers(3, 4).long(), numbers(3, 4).long()),
    "truth values": lambda: (numbers(3, 4) > 0, numbers(3, 4) > 0),
    "sizes that differ": lambda: (numbers(3, 4), numbers(5, 7)),
    "no elements": lambda: (numbers(0, 4), numbers(0, 4)),
    "sparse": lambda: (numbers(3, 4).to_sparse(), numbers(3, 4)),
    "sparse second": lambda: (numbers(3, 4), numbers(3, 4).to_sparse()),
    "quantized": lambda: (
        torch.quantize_per_tensor(numbers(3, 4), 0.1, 0, torch.qint8),
        numbers(3, 4),
    ),
    "tracked": lambda: (numbers(3, 4).requires_grad_() * 1, numbers(3, 4).requires_grad_()),
}
# At least one for each signature in typed_kernel.cpp that these arguments fit.
OPERATORS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "relu": lambda a, b: torch.relu(a),
    "add": lambda a, b: torch.add(a, b, alpha=2),
    "mul": lambda a, b: a * b,
    "sub a number": lambda a, b: torch.sub(a, 3),
    "threshold": lambda a, b: aten.threshold(a, 0.5, 1.0),
    "where": lambda a, b: torch.where(a == b, a, b),
    "addmm": lambda a, b: torch.addmm(b[:, :3], a, b.mT, beta=2),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=2),
    "softmax": lambda a, b: aten._softmax(a, 1, False),
    "softmax backward": lambda a, b: aten._softmax_backward_data(a, b, 1, torch.float32),
    "sum": lambda a, b: a.sum(dtype=torch.float64),
    "mean": lambda a, b: a.mean(-1, keepdim=True),
    "gelu": lambda a, b: aten.gelu(a, approximate="tanh"),
    "gelu backward": lambda a, b: aten.gelu_backward(a, b),
    "layer norm": lambda a, b: aten.native_layer_norm(a, [4], b[0], None, 1e-5),
    "layer norm backward": lambda a, b: aten.native_layer_norm_backward(
        a, b, [4], b[:, :1].contiguous(), b[:, :1].contiguous(), None, None, [True, False, False]
    ),
    "relu_": lambda a, b: a.relu_(),
    "mul_": lambda a, b: a.mul_(b),
    "fill_": lambda a, b: a.fill_(3),
    "add_": lambda a, b: a.add_(b, alpha=3),
    "add_ to itself": lambda a, b: a.add_(a),
    "copy_": lambda a, b: a.copy_(b),
    "addcdiv_": lambda a, b: a.addcdiv_(b, b, value=0.5),
    "detach": lambda a, b: a.detach(),
    "view": lambda a, b: a.view(-1),
    "unfold": lambda a, b: a.unfold(0, 2, 1),
    "reshape": lambda a, b: a.reshape(-1),
}


def facts(value: Any) -> Any:
    if isinstance(value, tuple):
        return [facts(one) for one in value]
    if not isinstance(value, Tensor):
        return value
    known: list[Any] = [
        type(value.grad_fn).__name__, value.requires_grad, value.dtype, value.device, value._version,
        str(torch._C._dispatch_keys(value)), value.shape, sys.getrefcount(value), str(value.tolist())
        if value.layout == torch.strided and not value.is_quantized else str(value),
    ]  # fmt: skip
    if value.layout == torch.strided:
        known += [value.stride(), value.storage_offset(), value.untyped_storage().nbytes()]
        known += [torch._C._is_cow_tensor(value), value._is_view()]
    return known


def outcome(make: Callable[[], Pair], run: Callable[[Tensor, Tensor], Any]) -> Any:
    """What a call gives and raises, what becomes of its arguments, and the memory that it leaves."""
    arguments = make()
    before = torch.cuda.memory_allocated()
    said = result = None
    try:
        result = run(*arguments)
    except Exception as error:
        said = (type(error), str(error).partition("\n")[0])
    same = [result is argument for argument in arguments]
    seen = (said, facts(result), [facts(one) for one in arguments], same)
    kept = torch.cuda.memory_allocated() - before
    del result
    return (*seen, kept, torch.cuda.memory_allocated() - before)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_both_ways_are_the_same(name: str) -> None:
    torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")  # takes its workspace
    make = ARGUMENTS[name]
    borrowed = {operator: outcome(make, run) for operator, run in OPERATORS.items()}
    with by_the_stack():
        for operator, run in OPERATORS.items():
            assert outcome(make, run) == borrowed[operator], operator


def test_inference_mode() -> None:
    for operator, run in OPERATORS.items():
        with torch.inference_mode():
            result = run(*ARGUMENTS["plain"]())
        for one in result if isinstance(result, tuple) else (result,):
            assert one is None or one.is_inference(), operator


def test_a_kernel_that_raises_keeps_nothing() -> None:
    a, b = numbers(3, 4), numbers(5, 7)
    before = (torch.cuda.memory_allocated(), sys.getrefcount(a), sys.getrefcount(b))
    for _ in range(3):
        for call in (lambda: a + b, lambda: a.add_(b), lambda: torch.addcmul(a, b, b)):
            with pytest.raises(RuntimeError, match="must match the size of"):
                call()
        del call
    assert (torch.cuda.memory_allocated(), sys.getrefcount(a), sys.getrefcount(b)) == before


def test_threads() -> None:
    raised: list[BaseException] = []

    def work(number: int) -> None:
        try:
            device = f"cuda:{number % 2}"
            a = torch.full((3, 4), float(number), device=device)
            for _ in range(200):
                b = torch.add(a, a).mul_(0.5)
                assert b.device == a.device and torch.equal(a, b)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not raised
