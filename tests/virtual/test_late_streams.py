"""Streams whose work is seen by others only after a wait (`torchport run --streams late`)."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2", streams="late")

Told = Callable[[], list[str]]


@pytest.fixture
def told() -> Told:
    """A function that returns what was told since the test began."""
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    native = torch.ops.torchport
    before = len(native.unordered_accesses())
    return lambda: native.unordered_accesses()[before:]


@pytest.fixture
def side() -> torch.cuda.Stream:
    return torch.cuda.Stream()


def here(offset: int = 0) -> str:
    frame: Any = inspect.currentframe()
    return f"{os.path.basename(__file__)}:{frame.f_back.f_lineno + offset}"


def test_reading_without_waiting(told: Told, side: torch.cuda.Stream) -> None:
    made = here(+1)
    tensor = torch.ones(4, device="cuda") * 2
    with torch.cuda.stream(side):
        used = here(+1)
        early = tensor + 1
    side.synchronize()
    assert early.isnan().all()
    assert tensor.tolist() == [2] * 4  # its own stream has the numbers
    (text,) = told()
    assert f"cuda:0: stream {side.cuda_stream:#x} reads at" in text and used in text
    assert "what the default stream writes at" in text and made in text
    assert "torch.cuda.default_stream()" in text


def test_reading_what_a_side_stream_made(told: Told, side: torch.cuda.Stream) -> None:
    with torch.cuda.stream(side):
        made = here(+1)
        tensor = torch.randn(4, device="cuda")
    used = here(+1)
    number = tensor.sum().item()
    assert number != number
    (text,) = told()
    assert "the default stream reads" in text and made in text and used in text


def test_writing_what_is_being_read(told: Told, side: torch.cuda.Stream) -> None:
    tensor = torch.ones(4, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        total = tensor.sum()
    tensor.zero_()
    (text,) = told()
    assert "the default stream writes" in text and f"stream {side.cuda_stream:#x} reads" in text
    side.synchronize()
    assert total.item() == 4 and tensor.sum().item() == 0


def test_each_pair_of_lines_is_told_once(told: Told, side: torch.cuda.Stream) -> None:
    for _ in range(5):
        tensor = torch.ones(4, device="cuda")
        with torch.cuda.stream(side):
            tensor + 1
    assert len([text for text in told() if "reads at" in text]) == 1


def use_and_drop(side: torch.cuda.Stream, *, record: bool) -> torch.Tensor:
    tensor = torch.ones(1000, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        result = tensor * 2
    if record:
        tensor.record_stream(side)
    del tensor
    torch.zeros(1000, device="cuda")  # it may get the memory of `tensor`
    torch.cuda.current_stream().wait_stream(side)
    return result


def test_memory_that_another_stream_uses(told: Told, side: torch.cuda.Stream) -> None:
    assert use_and_drop(side, record=True).sum().item() == 2000 and told() == []
    assert use_and_drop(side, record=False).sum().item() == 2000
    (text,) = told()
    assert "may still use" in text and "record_stream()" in text


def test_streams_that_wait(told: Told, side: torch.cuda.Stream) -> None:
    tensor = torch.arange(4.0, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        doubled = tensor * 2
        event = side.record_event()
    event.wait()
    assert (doubled + tensor).tolist() == [0, 3, 6, 9]
    with torch.cuda.stream(side):
        later = doubled + 1
    side.synchronize()
    assert (later + 1).tolist() == [2, 4, 6, 8]
    other = torch.cuda.Stream()
    third = torch.cuda.Stream()
    third.wait_stream(side)
    other.wait_stream(third)
    with torch.cuda.stream(other):
        assert (later * 2).tolist() == [2, 6, 10, 14]
    assert told() == []


def test_halves_and_columns(told: Told, side: torch.cuda.Stream) -> None:
    tensor = torch.zeros(8, 8, device="cuda")
    torch.cuda.synchronize()
    tensor[:, :4] += 1
    with torch.cuda.stream(side):
        tensor[:, 4:] += 2
    torch.cuda.current_stream().wait_stream(side)
    assert tensor.sum().item() == 96 and told() == []


def test_threads_devices_and_copies(told: Told, side: torch.cuda.Stream) -> None:
    host = torch.arange(6.0).pin_memory()
    event = torch.cuda.Event()
    copied: list[torch.Tensor] = []

    def copy() -> None:
        with torch.cuda.stream(side):
            copied.append(host.to("cuda", non_blocking=True))
            event.record()

    thread = threading.Thread(target=copy)
    thread.start()
    thread.join()
    torch.cuda.current_stream().wait_event(event)
    there = (copied[0] * 2).to("cuda:1")
    assert (there + 1).tolist() == [1, 3, 5, 7, 9, 11]
    copied[0].record_stream(torch.cuda.current_stream())
    assert told() == []


def test_backward_pass(told: Told, side: torch.cuda.Stream) -> None:
    layer = torch.nn.Linear(4, 4).cuda()
    data = torch.ones(2, 4, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    for threads in (False, True):
        with torch.autograd.set_multithreading_enabled(threads):
            with torch.cuda.stream(side):
                hidden = layer(data)
            torch.cuda.current_stream().wait_stream(side)
            layer(hidden.relu()).sum().backward()
            total = sum(p.grad.sum() for p in layer.parameters())
            assert torch.isfinite(total)
            layer.zero_grad()
        side.wait_stream(torch.cuda.current_stream())
    assert told() == []


def test_graphs(told: Told) -> None:
    source = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = source * 2 + 1
    for value in range(3):
        source.fill_(value)
        graph.replay()
        assert result.tolist() == [2 * value + 1] * 4
    assert told() == []


def test_events_that_are_not_over() -> None:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    first.record()
    torch.ones(4, device="cuda") + 1
    last.record()
    assert first.query() and not last.query()
    with pytest.raises(RuntimeError, match="Both events must be completed"):
        first.elapsed_time(last)
    last.synchronize()
    assert first.elapsed_time(last) >= 0 and last.query()
    torch.ones(4, device="cuda") + 1
    last.record()
    while not last.query():
        pass
    torch.cuda._sleep(1000)
    last.record()
    assert not last.query()
