"""Virtual XPU: what torch.xpu answers."""

import copy
import io
import re

import pytest
import torch

pytestmark = pytest.mark.devices("xpu:2")


def test_what_it_answers() -> None:
    assert torch.xpu.is_available() and torch.xpu.device_count() == 2
    assert not torch.cuda.is_available() and not torch.backends.cuda.is_built()
    assert torch.accelerator.current_accelerator() == torch.device("xpu")
    about = torch.xpu.get_device_properties(1)
    assert about.name == torch.xpu.get_device_name() == "Intel(R) Data Center GPU Max 1550"
    assert about.total_memory == 64 << 30 and "total_memory=65536MB" in repr(about)
    assert torch.xpu.get_device_capability()["has_fp64"] and torch.xpu.is_bf16_supported()


def test_devices_streams_and_events() -> None:
    x = torch.arange(6.0, device="xpu:1")
    assert x.device == torch.device("xpu:1") and x.is_xpu and x.double().dtype == torch.float64
    with torch.xpu.device(1):
        assert torch.ones(1, device="xpu").device.index == 1 == torch.xpu.current_device()
    stream = torch.xpu.Stream(1)
    with torch.xpu.stream(stream):
        assert torch.xpu.current_stream() == stream
    first, last = (torch.xpu.Event(enable_timing=True) for _ in range(2))
    first.record()
    last.record()
    torch.xpu.synchronize()
    assert first.elapsed_time(last) >= 0


def test_random_numbers() -> None:
    torch.xpu.manual_seed_all(7)
    drawn = torch.rand(2, device="xpu:1")
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(2, device="xpu:1"))
    states = torch.xpu.get_rng_state_all()
    assert len(states) == 2 and torch.Generator("xpu:1").device.index == 1


def test_training_and_saving() -> None:
    x = torch.arange(6.0, device="xpu:1")
    model = torch.nn.Linear(6, 2).to("xpu")
    model(x.to("xpu")).sum().backward()
    assert model.weight.grad.device == torch.device("xpu:0")
    assert copy.deepcopy(model).weight.device == torch.device("xpu:0")
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert torch.load(file).device == torch.device("xpu:1")
    with torch.autocast("xpu", dtype=torch.bfloat16):
        assert model(x.to("xpu")).dtype == torch.bfloat16


def test_memory_and_errors() -> None:
    _held = torch.arange(6.0, device="xpu:1")
    assert torch.xpu.memory_allocated(1) > 0 and torch.xpu.mem_get_info(0)[1] == 64 << 30
    assert torch.xpu.max_memory_allocated() >= torch.xpu.memory_allocated()
    torch.xpu.empty_cache()
    with pytest.raises(
        torch.OutOfMemoryError,
        match=re.escape(
            "XPU out of memory. Tried to allocate 65.00 GiB. GPU 0 has a total capacity of 64.00 GiB. "
        ),
    ):
        torch.empty(65 << 30, dtype=torch.uint8, device="xpu")
    with pytest.raises(RuntimeError):
        torch.ones(1, device="xpu:5")
