"""Virtual MPS: what torch.mps answers, and what Apple's devices refuse."""

import copy
import io
import re

import pytest
import torch

pytestmark = pytest.mark.devices("mps")


def test_what_it_answers() -> None:
    assert torch.backends.mps.is_available() and torch.backends.mps.is_built()
    assert not torch.cuda.is_available() and not torch.backends.cuda.is_built()
    assert torch.version.cuda is None and torch.mps.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("mps")
    assert torch.backends.mps.is_macos13_or_newer()


def test_there_is_no_float64() -> None:
    # There is no float64.
    text = (
        "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
        "Please use float32 instead."
    )
    x = torch.arange(6.0, device="mps").view(2, 3)
    for make in (
        lambda: torch.zeros(2, dtype=torch.float64, device="mps"),
        lambda: torch.ones(2, dtype=torch.float64).to("mps"),
        lambda: x.double(),
        lambda: torch.arange(3, dtype=torch.float64, device="mps"),
        lambda: torch.tensor([1.0], dtype=torch.float64, device="mps"),
        lambda: torch.nn.Linear(2, 2).double().to("mps"),
    ):
        with pytest.raises(TypeError, match=re.escape(text)):
            make()
    with pytest.raises(TypeError, match="ComplexDouble"):
        torch.zeros(2, dtype=torch.complex128, device="mps")
    assert (x * 2.5).dtype == torch.float32 and x.half().mean().dtype == torch.half


def test_programs_train_save_and_draw() -> None:
    x = torch.arange(6.0, device="mps").view(2, 3)
    # Programs train, save and draw.
    torch.mps.manual_seed(3)
    first = torch.rand(3, device="mps")
    state = torch.mps.get_rng_state()
    second = torch.rand(3, device="mps")
    torch.mps.set_rng_state(state)
    assert torch.equal(second, torch.rand(3, device="mps"))
    torch.manual_seed(3)
    assert torch.equal(first, torch.rand(3, device="mps"))
    assert torch.Generator("mps").device.type == "mps"
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(1)
    )
    model = model.to("mps")
    images = torch.rand(5, 1, 6, 6, device="mps")
    model(images)
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(images).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert all(p.device.type == "mps" for p in copy.deepcopy(model).parameters())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    assert torch.load(file)["0.weight"].device.type == "mps"
    file.seek(0)
    assert torch.load(file, map_location="cpu")["0.weight"].is_cpu
    x.untyped_storage().resize_(64)
    with torch.autocast("mps", dtype=torch.float16):
        assert model(images).dtype == torch.float16


def test_memory_and_events() -> None:
    _held = torch.arange(6.0, device="mps").view(2, 3)
    # Memory and events.
    assert torch.mps.current_allocated_memory() > 0
    assert torch.mps.driver_allocated_memory() >= torch.mps.current_allocated_memory()
    assert torch.mps.recommended_max_memory() == (16 << 30) // 3 * 2
    torch.mps.empty_cache()
    torch.mps.synchronize()
    with pytest.raises(RuntimeError, match=re.escape("MPS backend out of memory (MPS allocated: ")):
        torch.empty(17 << 30, dtype=torch.uint8, device="mps")
    before, after = (torch.mps.Event(enable_timing=True) for _ in range(2))
    before.record()
    after.record()
    after.synchronize()
    assert after.query() and before.elapsed_time(after) >= 0
    with pytest.raises(NotImplementedError, match=re.escape("torch.mps.compile_shader")):
        torch.mps.compile_shader("")
    with pytest.raises(NotImplementedError, match=re.escape("torch.mps.profiler")):
        torch.mps.profiler.start()
