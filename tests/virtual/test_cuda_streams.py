"""Devices, streams and events of torch.cuda."""

import re
import time
import warnings

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")


def cycles_of_20_ms() -> int:
    return torch.cuda.get_device_properties().clock_rate * 20


def test_streams() -> None:
    # Streams keep device, identity and priority.
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    stream = torch.cuda.Stream(1, priority=-1)
    assert (stream.device, stream.priority) == (torch.device("cuda:1"), -1)
    assert torch.cuda.Stream().priority == 0 and isinstance(stream, torch.Stream)
    assert stream != torch.cuda.Stream(1, priority=-1)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        assert torch.accelerator.current_stream().stream_id == stream.stream_id
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
    with stream:
        assert torch.cuda.current_stream() == stream
    external = torch.cuda.ExternalStream(0x7F0000001000, device=1)
    assert external.cuda_stream == 0x7F0000001000
    assert torch.cuda.get_stream_from_external(0x7F0000001000, 1) == external
    stream.wait_stream(torch.cuda.current_stream())
    assert stream.query() and stream.record_event().query()


def test_events() -> None:
    # Events measure.
    first, last, untimed = (torch.cuda.Event(enable_timing=on) for on in (True, True, False))
    with pytest.raises(ValueError, match="Both events must be recorded"):
        first.elapsed_time(last)
    first.record()
    torch.cuda._sleep(cycles_of_20_ms())
    last.record()
    untimed.record()
    last.synchronize()
    assert 20 <= first.elapsed_time(last) < 1000, first.elapsed_time(last)
    with pytest.raises(ValueError, match="enable_timing=True"):
        first.elapsed_time(untimed)
    handle = torch.cuda.Event(interprocess=True).ipc_handle()
    assert len(handle) == 64
    assert torch.cuda.Event.from_ipc_handle(torch.device("cuda:1"), handle).query()
    with pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        untimed.ipc_handle()


def test_a_sleep_takes_its_cycles_of_the_devices_clock() -> None:
    began = time.monotonic()
    torch.cuda._sleep(-5)
    for i in range(2):
        with torch.cuda.device(i):
            torch.cuda._sleep(cycles_of_20_ms())
    assert 0.04 <= time.monotonic() - began < 1
    with pytest.raises(TypeError, match="expected 'int'"):
        torch.cuda._sleep(1.5)


def test_a_graph_sleeps_when_it_is_replayed() -> None:
    graph = torch.cuda.CUDAGraph()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the graph is not empty
        with torch.cuda.graph(graph):
            began = time.monotonic()
            torch.cuda._sleep(20 * cycles_of_20_ms())
            assert time.monotonic() - began < 0.4
    first.record()
    graph.replay()
    last.record()
    torch.cuda.synchronize()
    assert first.elapsed_time(last) >= 400


def test_events_that_are_used_wrongly() -> None:
    plain, timed = torch.cuda.Event(), torch.cuda.Event(enable_timing=True)
    for one, other in [(plain, plain), (timed, plain), (plain, timed)]:
        with pytest.raises(ValueError, match="created with argument 'enable_timing=True'"):
            one.elapsed_time(other)
    with pytest.raises(RuntimeError, match=r"expected stream to be a torch\.Stream or"):
        plain.record(5)
    with pytest.raises(torch.AcceleratorError, match="invalid argument"):
        torch.cuda.Event(interprocess=True, enable_timing=True).record()
    with pytest.raises(torch.AcceleratorError, match="mapping of buffer object failed"):
        torch.cuda.Event.from_ipc_handle(0, b"x" * 64)
    with pytest.raises(RuntimeError, match="byte-like object of size 64, but got 1"):
        torch.cuda.Event.from_ipc_handle(0, b"x")
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        torch.cuda.Stream(priority="high")


def test_devices_that_do_not_exist() -> None:
    beyond = r"Device index value 77 is out of index range \[0, 2\)"
    for ask in (torch.cuda.current_stream, torch._C._cuda_getCurrentRawStream):
        with pytest.raises(RuntimeError, match=beyond):
            ask(77)
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        torch.cuda.mem_get_info(77)
    with pytest.raises(RuntimeError, match="Invalid device argument M"):
        torch.cuda.memory_allocated(77)
    with pytest.raises(UnicodeDecodeError):  # the index is put into the text as a letter
        torch.cuda.memory_allocated(-5)
    assert torch.Generator("cuda:77").manual_seed(1).initial_seed() == 1


def test_devices() -> None:
    # Devices.
    with torch.cuda.device(1):
        assert torch.ones(1, device="cuda").device.index == 1
    with torch.accelerator.device_index(1):
        assert torch.cuda.current_device() == 1
    invalid = "invalid device ordinal"
    with pytest.raises(torch.AcceleratorError, match=re.escape(invalid)):
        torch.zeros(1, device="cuda:7")
    with pytest.raises(torch.AcceleratorError, match=re.escape(invalid)):
        torch.cuda.set_device(2)
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_name(7)
    assert torch.cuda.can_device_access_peer(0, 1)
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    with pytest.raises(NotImplementedError, match=re.escape("torch.cuda.current_blas_handle")):
        torch.cuda.current_blas_handle()
    with pytest.raises(ModuleNotFoundError, match=r"nvidia-ml-py|pynvml"):
        torch.cuda.utilization()
    # NVTX counts ranges for a tool that is attached.
    assert torch.cuda.nvtx.range_push("a") == -2 and torch.cuda.nvtx.range_pop() == -2
    assert torch.cuda.nvtx.range_start("a") == 0
