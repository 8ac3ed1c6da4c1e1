"""torchport.backend: the functions of torch.cuda on the device in use."""

from __future__ import annotations

import pytest
import torch
from torchport import backend

pytestmark = pytest.mark.devices("cuda:2")


def test_they_are_those_of_cuda() -> None:
    backend.set_device(1)
    backend.empty_cache()
    backend.reset_peak_memory_stats()
    before = backend.memory_allocated()
    held = torch.ones(1000, device="cuda")
    assert held.device.index == 1
    assert backend.memory_allocated() - before == 4096 == backend.max_memory_allocated() - before
    assert backend.memory_allocated("cuda:0") == torch.cuda.memory_allocated(0)
    assert backend.memory_reserved() == torch.cuda.memory_reserved() >= 4096
    del held
    assert backend.memory_allocated() == before
    assert backend.max_memory_allocated() == torch.cuda.max_memory_allocated() > before
    assert backend.max_memory_reserved() == torch.cuda.max_memory_reserved()
    backend.empty_cache()
    assert backend.memory_reserved() == torch.cuda.memory_reserved()
    assert backend.mem_get_info("cuda:0") == torch.cuda.mem_get_info(0)
    backend.synchronize()
    backend.synchronize("cuda:1")
    assert backend.current_stream() == torch.cuda.current_stream()
    backend.set_device("cuda:0")
    assert torch.cuda.current_device() == 0


@pytest.mark.parametrize("seed", [backend.manual_seed, backend.manual_seed_all])
def test_random_numbers_of_the_device(seed) -> None:
    host = torch.get_rng_state()
    seed(7)
    state = backend.get_rng_state()
    drawn = torch.rand(4, device="cuda")
    backend.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="cuda"), drawn)
    seed(7)
    assert torch.equal(torch.rand(4, device="cuda"), drawn)
    assert torch.equal(torch.get_rng_state(), host), "those of the CPU are as they were"
    states = backend.get_rng_state_all()
    assert len(states) == 2
    other = torch.rand(4, device="cuda:1")
    backend.set_rng_state_all(states)
    assert torch.equal(torch.rand(4, device="cuda:1"), other)


def test_a_device_can_be_named() -> None:
    assert backend.memory_allocated("cpu") == backend.max_memory_allocated("cpu") == 0
    assert backend.memory_reserved("cpu") == backend.max_memory_reserved("cpu") == 0
    backend.synchronize("cpu")
    backend.reset_peak_memory_stats("cpu")
    free, total = backend.mem_get_info("cpu")
    assert 0 < free <= total
    state = backend.get_rng_state("cpu")
    drawn = torch.rand(3)
    backend.set_rng_state(state, "cpu")
    assert torch.equal(torch.rand(3), drawn)
    backend.current_stream("cpu").wait_stream(backend.current_stream("cpu"))
