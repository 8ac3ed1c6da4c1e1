"""torch.accelerator, whose every function answers, and torch's profilers."""

import inspect

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")


def test_every_function_answers() -> None:
    _held = torch.ones(3, device="cuda")
    called = 0
    for name in torch.accelerator.__all__:
        function = getattr(torch.accelerator, name)
        if not inspect.isfunction(function) or name == "get_device_capability":
            continue
        parameters = inspect.signature(function).parameters.values()
        if all(
            p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            for p in parameters
        ):
            function()
            called += 1
    assert called > (15 if hasattr(torch.accelerator, "get_memory_info") else 14), called
    if hasattr(torch.accelerator, "get_device_capability"):  # since torch 2.10
        capability = torch.accelerator.get_device_capability("cuda:1")
        assert torch.float64 in capability["supported_dtypes"]
    assert torch.accelerator.memory_allocated() == 512 == torch.cuda.memory_allocated()
    pinned = torch.ones(1000).pin_memory()
    del pinned
    if hasattr(torch.accelerator, "empty_host_cache"):  # since torch 2.12
        torch.accelerator.empty_host_cache()
    else:
        torch._C._host_emptyCache()
    assert torch.cuda.host_memory_stats()["allocated_bytes.current"] == 0


def test_profilers() -> None:
    model = torch.nn.Linear(10, 10).cuda()
    both = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both, profile_memory=True) as profile:
        model(torch.randn(4, 10, device="cuda")).sum().backward()
    assert any(event.key == "aten::linear" for event in profile.key_averages())
    with torch.autograd.profiler.profile(use_device="cuda") as profile:
        model(torch.randn(4, 10, device="cuda"))
    assert len(profile.key_averages()) > 0
    with torch.autograd.profiler.emit_nvtx():
        model(torch.randn(4, 10, device="cuda"))


def test_profiles_of_memory_show_the_device() -> None:
    """What a real device's allocator tells: its own blocks, and no memory of the host."""
    x = torch.rand(128, 128, device="cuda")
    both = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both, profile_memory=True) as profile:
        host = torch.ones(1000)
        small = torch.ones(10, device="cuda")
        y = x * x + x * x
        y.resize_(256, 128)
        for _ in range(2):
            x.matmul(x)
    shown = {event.key: event for event in profile.key_averages()}

    def memory(name: str) -> tuple[int, int]:
        return shown[name].device_memory_usage, shown[name].cpu_memory_usage

    assert memory("aten::mul") == (2 * 65536, 0)
    assert memory("aten::add") == (65536, 0)
    assert memory("aten::resize_") == (65536, 0)  # twice as much, and the old block goes
    assert memory("aten::ones") == (512, 4000)
    # Products whose results are gone, and the temporary ones.
    assert shown["[memory]"].device_memory_usage == -2 * 65536 - 2 * 65536
    assert shown["[memory]"].cpu_memory_usage == 0
    assert "CUDA Mem" in profile.key_averages().table()
    del host, small
    with torch.profiler.profile(
        activities=both, profile_memory=True, record_shapes=True, with_stack=True
    ) as profile:
        x = x * x + x * x
    kept = [event for event in profile._memory_profile().timeline if event[3] == 65536]
    assert kept
    assert all(event[2][0].device == x.device for event in kept)


def test_functions_of_mps_refuse() -> None:
    # Programs find out so which accelerator they have.
    for ask in (
        torch.mps.current_allocated_memory,
        torch.mps.driver_allocated_memory,
        torch.mps.synchronize,
        torch.mps.empty_cache,
        lambda: torch.mps.Event(enable_timing=True),
    ):
        with pytest.raises(RuntimeError, match=r"Cannot execute \w+\(\) without MPS backend\."):
            ask()
