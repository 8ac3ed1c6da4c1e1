"""The callbacks of torch.cuda._gpu_trace, and PyTorch's sanitizer for streams, which uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.cuda import _gpu_trace, _sanitizer

pytestmark = pytest.mark.devices("cuda:2")

Told = list[tuple[Any, ...]]
WHAT = (
    "event_creation", "event_deletion", "event_record", "event_wait", "event_synchronization",
    "memory_allocation", "memory_deallocation", "stream_creation", "stream_synchronization",
    "device_synchronization",
)  # fmt: skip


@pytest.fixture(scope="module")
def everything() -> Told:
    told: Told = []
    torch._C._activate_gpu_trace()
    for what in WHAT:
        register = getattr(_gpu_trace, f"register_callback_for_{what}")
        register(lambda *handles, what=what: told.append((what, *handles)))
    return told


@pytest.fixture
def told(everything: Told) -> Iterator[Told]:
    torch.cuda.Stream(), torch.cuda.Stream(1)  # the first one of a device makes all of them
    everything.clear()
    yield everything


def test_the_first_stream_of_a_device_makes_all(everything: Told) -> None:
    everything.clear()
    stream = torch.cuda.Stream(1)
    made = [handle for what, handle in everything if what == "stream_creation"]
    assert len(set(made)) == len(made) == 128 and stream.cuda_stream in made
    everything.clear()
    assert torch.cuda.Stream(1, priority=-3).cuda_stream in made and not everything


def test_events(told: Told) -> None:
    side = torch.cuda.Stream()
    event = torch.cuda.Event(enable_timing=True)
    assert told == []  # an event is made when it is first recorded
    event.record()
    handle = event.cuda_event
    side.wait_event(event)
    event.synchronize()
    event.record(side)
    del event
    assert told == [
        ("event_creation", handle), ("event_record", handle, 0),
        ("event_wait", handle, side.cuda_stream), ("event_synchronization", handle),
        ("event_record", handle, side.cuda_stream), ("event_deletion", handle),
    ]  # fmt: skip


def test_memory(told: Told) -> None:
    tensor = torch.empty(1000, device="cuda")
    assert told == [("memory_allocation", tensor.data_ptr())]
    doubled = tensor * 2
    assert told[1:] == [("memory_allocation", doubled.data_ptr())]
    told.clear()
    before = tensor.data_ptr()
    tensor.resize_(100_000)
    after = tensor.data_ptr()
    assert told == [("memory_allocation", after), ("memory_deallocation", before)]
    told.clear()
    del tensor, doubled
    assert [what for what, *_ in told] == ["memory_deallocation"] * 2 and told[0][1] == after
    told.clear()
    torch.empty(0, device="cuda")
    assert told == []


def test_waits(told: Told) -> None:
    side = torch.cuda.Stream()
    tensor = torch.ones(4, device="cuda")
    told.clear()
    torch.cuda.synchronize()
    side.synchronize()
    assert told == [("device_synchronization",), ("stream_synchronization", side.cuda_stream)]
    told.clear()
    tensor.nonzero()
    assert [entry for entry in told if "memory" not in entry[0]] == [("stream_synchronization", 0)]
    told.clear()
    with torch.cuda.stream(side):
        tensor.tolist()
    assert [entry for entry in told if "memory" not in entry[0]] == [
        ("stream_synchronization", side.cuda_stream)
    ]


def test_sanitizer() -> None:
    side = torch.cuda.Stream()
    with _sanitizer.CUDASanitizerDispatchMode():
        tensor = torch.rand(4, 2, device="cuda")
        with torch.cuda.stream(side), pytest.raises(_sanitizer.CUDASanitizerErrors):
            torch.mul(tensor, 5, out=tensor)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.mul(tensor, 5, out=tensor)
        torch.cuda.synchronize()
        assert torch.sum(tensor).item() > 0


def test_memory_that_an_operator_exchanges(told: Told) -> None:
    q = torch.ones(1, 4, 8, 16, device="cuda", requires_grad=True)
    output = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    output.sum().backward()
    held = {t.untyped_storage().data_ptr() for t in (q, output, q.grad) if t is not None}
    del q, output
    live: set[Any] = set()
    most: set[Any] = set()
    for what, *handles in told:
        if what == "memory_allocation":
            live.add(handles[-1])
        elif what == "memory_deallocation":
            live.remove(handles[-1])  # KeyError: nobody was told of it
        most |= live
    assert held <= most and not held & live
