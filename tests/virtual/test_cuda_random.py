"""Random numbers: generators of devices, their states."""

import re

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")


def test_a_seed_before_cuda_is_initialised() -> None:
    assert not torch.cuda.is_initialized()
    torch.manual_seed(5)  # remembered until CUDA is initialised
    early = torch.rand(2, device="cuda:1")
    torch.manual_seed(5)
    assert torch.equal(early, torch.rand(2, device="cuda:1"))
    assert torch.cuda.initial_seed() == 5 == torch.cuda.default_generators[1].initial_seed()


def test_states() -> None:
    states = torch.cuda.get_rng_state_all()
    assert len(states) == len(torch.cuda.default_generators) == 2 and states[0].device.type == "cpu"
    drawn = [torch.rand(2, device=f"cuda:{i}") for i in range(2)]
    torch.cuda.set_rng_state_all(states)
    assert all(torch.equal(drawn[i], torch.rand(2, device=f"cuda:{i}")) for i in range(2))
    torch.cuda.manual_seed_all(9)
    assert torch.equal(torch.rand(2, device="cuda:0").cpu(), torch.rand(2, device="cuda:1").cpu())
    before = torch.cuda.get_rng_state(1)
    with torch.random.fork_rng():
        torch.rand(4, device="cuda:1")
    assert torch.equal(before, torch.cuda.get_rng_state("cuda:1"))


def test_generators() -> None:
    generator = torch.Generator("cuda:1").manual_seed(4)
    assert generator.device == torch.device("cuda:1") and generator.initial_seed() == 4
    first = torch.rand(2, device="cuda:1", generator=generator)
    clone = generator.clone_state()
    assert clone.device == generator.device
    for draw in (
        lambda g: torch.rand(2, device="cuda:1", generator=g),
        lambda g: torch.randperm(5, device="cuda:1", generator=g),
        lambda g: torch.bernoulli(torch.full((9,), 0.5, device="cuda:1"), generator=g),
        lambda g: torch.multinomial(torch.ones(4, device="cuda:1"), 2, generator=g),
        lambda g: torch.empty(4, device="cuda:1").normal_(generator=g),
    ):
        assert torch.equal(draw(generator), draw(clone))
    generator.manual_seed(4)
    assert torch.equal(first, torch.rand(2, device="cuda:1", generator=generator))
    torch.cuda.manual_seed_all(9)
    torch.cuda.seed_all()
    assert torch.cuda.default_generators[0].initial_seed() != 9


def test_the_state_of_a_real_device() -> None:
    # The state of a real device is taken for its seed.
    real = torch.tensor([9, *[0] * 15], dtype=torch.uint8)
    torch.cuda.set_rng_state(real, 1)
    assert torch.cuda.default_generators[1].initial_seed() == 9


def test_generators_of_other_devices() -> None:
    wrong = "Expected a '{}' device type for generator but found '{}'"
    with pytest.raises(RuntimeError, match=re.escape(wrong.format("cuda", "cpu"))):
        torch.rand(2, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match=re.escape(wrong.format("cpu", "cuda"))):
        torch.rand(2, generator=torch.Generator("cuda"))
