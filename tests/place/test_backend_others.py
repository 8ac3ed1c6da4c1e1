"""torchport.backend on a device with fewer functions."""

from __future__ import annotations

import pytest
import torch
from torchport import backend

pytestmark = pytest.mark.devices("mps")


def test_what_the_device_lacks_is_answered() -> None:
    held = torch.ones(1000, device="mps")
    assert backend.memory_allocated() >= 4000
    assert backend.memory_reserved() >= backend.memory_allocated()
    assert backend.max_memory_allocated() == backend.max_memory_reserved() == 0
    free, total = backend.mem_get_info()
    assert 0 < free < total
    for function in (backend.empty_cache, backend.synchronize, backend.reset_peak_memory_stats):
        function()
    backend.set_device(0)
    backend.manual_seed_all(3)
    drawn = torch.rand(3, device=held.device)
    backend.manual_seed(3)
    (state,) = backend.get_rng_state_all()
    assert torch.equal(torch.rand(3, device="mps"), drawn)
    backend.set_rng_state_all([state])
    assert torch.equal(torch.rand(3, device="mps"), drawn)
    assert backend.current_stream() is not None
