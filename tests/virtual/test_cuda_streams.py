"""Devices, streams and events of torch.cuda."""

import re

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")


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
    torch.cuda._sleep(28_000_000)
    last.record()
    untimed.record()
    last.synchronize()
    assert 15 < first.elapsed_time(last) < 1000, first.elapsed_time(last)
    with pytest.raises(ValueError, match="enable_timing=True"):
        first.elapsed_time(untimed)
    handle = torch.cuda.Event(interprocess=True).ipc_handle()
    assert len(handle) == 64
    assert torch.cuda.Event.from_ipc_handle(torch.device("cuda:1"), handle).query()
    with pytest.raises(RuntimeError, match="invalid resource handle"):
        untimed.ipc_handle()


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
    assert torch.cuda.nvtx.range_push("a") == 0 and torch.cuda.nvtx.range_pop() == 0
