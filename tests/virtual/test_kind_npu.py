"""Virtual NPU: a kind of device that torch knows as PrivateUse1, with the module of its package."""

import copy
import io
import re

import pytest
import torch
import torch_npu  # as programs for Ascend cards do

pytestmark = pytest.mark.devices("npu:2")


def test_what_it_answers() -> None:
    assert torch_npu.npu is torch.npu
    assert torch.npu.is_available() and torch.npu.device_count() == 2
    assert not torch.cuda.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.get_device_module("npu") is torch.npu
    about = torch.npu.get_device_properties(1)
    assert about.name == torch.npu.get_device_name() == "Ascend910B2C"
    assert about.total_memory == 62432 << 20 and repr(about).startswith(
        "_NPUDeviceProperties(name="
    )


def test_devices_streams_and_events() -> None:
    x = torch.arange(6.0, device="npu:1")
    assert x.device == torch.device("npu:1") and x.is_npu and x.npu(0).device.index == 0
    with torch.npu.device(1):
        assert torch.ones(1, device="npu").device.index == 1 == torch.npu.current_device()
    assert torch.npu.current_device() == 0
    stream = torch.npu.Stream(1)
    with torch.npu.stream(stream):
        assert torch.npu.current_stream() == stream
    first, last = (torch.npu.Event(enable_timing=True) for _ in range(2))
    first.record()
    last.record()
    torch.npu.synchronize()
    assert first.elapsed_time(last) >= 0


def test_random_numbers() -> None:
    torch.npu.manual_seed_all(7)
    drawn = torch.rand(2, device="npu:1")
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(2, device="npu:1"))
    states = torch.npu.get_rng_state_all()
    assert len(states) == 2 and torch.Generator("npu:1").device.index == 1


def test_a_network_learns() -> None:
    # A network that learns, in mixed precision, with data loaded in pinned memory.
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(4 * 36, 2),
    ).npu()  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("npu")
    data = [(torch.randn(1, 8, 8) + label, label) for label in (0, 1) for _ in range(16)]
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, pin_memory=True)
    losses = []
    for _ in range(3):
        for images, labels in loader:
            with torch.autocast("npu", dtype=torch.bfloat16):
                out = model(images.to("npu", non_blocking=True))
                assert out.dtype == torch.bfloat16
                loss = torch.nn.functional.cross_entropy(out, labels.npu())
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, losses
    assert next(model.parameters()).grad.device == torch.device("npu:0")
    assert copy.deepcopy(model)[0].weight.device == torch.device("npu:0")


def test_files() -> None:
    x = torch.arange(6.0, device="npu:1")
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert torch.load(file).device == torch.device("npu:1")
    file.seek(0)
    assert torch.equal(torch.load(file, map_location="cpu"), torch.arange(6.0))


def test_memory_and_errors() -> None:
    _held = torch.arange(6.0, device="npu:1")
    assert torch.npu.memory_allocated(1) > 0 and torch.npu.mem_get_info(0)[1] == 62432 << 20
    assert torch.npu.max_memory_allocated() >= torch.npu.memory_allocated()
    assert torch.accelerator.memory_allocated(1) == torch.npu.memory_allocated(1)
    torch.npu.empty_cache()
    assert "peak" in torch.npu.memory_summary()
    with pytest.raises(
        torch.OutOfMemoryError,
        match=re.escape(
            "NPU out of memory. Tried to allocate 65.00 GiB (NPU 0; 60.97 GiB total capacity; "
        ),
    ):
        torch.empty(65 << 30, dtype=torch.uint8, device="npu")
    with pytest.raises(RuntimeError):
        torch.ones(1, device="npu:5")
    with pytest.raises(RuntimeError, match="two devices, npu:0 and cpu"):
        torch.ones(2, device="npu") + torch.ones(2)
