"""Random numbers: generators of devices, their states, and that the draws are a function of them."""

import re

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")

DRAWS = {
    "rand": lambda g: torch.rand(2, device="cuda:1", generator=g),
    "randperm": lambda g: torch.randperm(5, device="cuda:1", generator=g),
    "randint": lambda g: torch.randint(0, 2**40, (5,), device="cuda:1", generator=g),
    "bernoulli": lambda g: torch.bernoulli(torch.full((9,), 0.5, device="cuda:1"), generator=g),
    "multinomial": lambda g: torch.multinomial(torch.ones(4, device="cuda:1"), 2, generator=g),
    "normal_": lambda g: torch.empty(4, device="cuda:1").normal_(generator=g),
    "normal": lambda g: torch.normal(torch.zeros(3, device="cuda:1"), 2.0, generator=g),
    "exponential_": lambda g: torch.empty(4, device="cuda:1").exponential_(generator=g),
    "geometric_": lambda g: torch.empty(4, device="cuda:1").geometric_(0.3, generator=g),
    "cauchy_": lambda g: torch.empty(4, device="cuda:1").cauchy_(generator=g),
    "log_normal_": lambda g: torch.empty(4, device="cuda:1").log_normal_(generator=g),
    "poisson": lambda g: torch.poisson(torch.full((4,), 9.0, device="cuda:1"), generator=g),
}
# By how much one of these draws moves the offset of a generator.
MOVES = {"randperm": 4 + 8, "bernoulli": 12, "poisson": 20}


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


def test_the_state_is_seed_and_offset() -> None:
    generator = torch.Generator("cuda:1").manual_seed(258)
    state = [2, 1, 0, 0, 0, 0, 0, 0, *[0] * 8]
    assert generator.get_state().tolist() == state
    torch.rand(3, device="cuda:1", generator=generator)
    state[8] = 4
    assert generator.get_state().tolist() == state and generator.get_offset() == 4
    generator.set_offset(40)
    assert generator.get_state()[8] == 40
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        generator.set_offset(6)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(TypeError, match="RNG state must be a torch"):
        generator.set_state(torch.zeros(16))
    generator.set_state(torch.tensor([7, *[0] * 7], dtype=torch.uint8))  # a seed alone
    assert generator.initial_seed() == 7 and generator.get_offset() == 0
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1
    assert torch.Generator("cuda").initial_seed() == 67280421310721  # c10::default_rng_seed_val


@pytest.mark.parametrize("name", DRAWS)
def test_generators(name: str) -> None:
    draw = DRAWS[name]
    generator = torch.Generator("cuda:1").manual_seed(4)
    assert generator.device == torch.device("cuda:1") and generator.initial_seed() == 4
    first = draw(generator)
    assert first.device == generator.device
    assert generator.get_offset() == MOVES.get(name, 4)
    clone = generator.clone_state()
    assert clone.device == generator.device
    again = draw(generator)
    assert torch.equal(again, draw(clone))
    generator.manual_seed(4)
    assert torch.equal(first, draw(generator))
    # The default generator draws the same, and only that of the tensor's device moves.
    torch.cuda.manual_seed_all(4)
    assert torch.equal(first, draw(None))
    offsets = [g.get_offset() for g in torch.cuda.default_generators]
    assert offsets == [0, MOVES.get(name, 4)]


def test_seeds_by_chance() -> None:
    torch.cuda.manual_seed_all(9)
    torch.cuda.seed_all()
    assert torch.cuda.default_generators[0].initial_seed() != 9
    assert torch.Generator("cuda").seed() != torch.Generator("cuda").seed()


def test_generators_that_share_a_state() -> None:
    one, other = torch.Generator("cuda").manual_seed(1), torch.Generator("cuda").manual_seed(2)
    kept = one.graphsafe_get_state()
    one.graphsafe_set_state(other)
    torch.rand(3, device="cuda", generator=one)
    assert other.get_offset() == 4 == one.get_offset() and one.initial_seed() == 2
    assert kept.initial_seed() == 1 and kept.get_offset() == 0
    with pytest.raises(RuntimeError, match="Expected a CUDA Generator"):
        one.graphsafe_set_state(torch.Generator())


def test_the_state_of_a_real_device() -> None:
    # A checkpoint of a real device has its seed and offset.
    real = torch.tensor([9, *[0] * 7, 8, *[0] * 7], dtype=torch.uint8)
    torch.cuda.set_rng_state(real, 1)
    default = torch.cuda.default_generators[1]
    assert default.initial_seed() == 9 and default.get_offset() == 8
    assert torch.equal(torch.cuda.get_rng_state(1), real)


def test_generators_of_other_devices() -> None:
    wrong = "Expected a '{}' device type for generator but found '{}'"
    for draw in (
        lambda **g: torch.rand(2, **g),
        lambda **g: torch.randperm(2, **g),
        lambda **g: torch.empty(2, device=g.get("device")).bernoulli_(
            0.5, generator=g["generator"]
        ),
    ):
        with pytest.raises(RuntimeError, match=re.escape(wrong.format("cuda", "cpu"))):
            draw(device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match=re.escape(wrong.format("cpu", "cuda"))):
        torch.rand(2, generator=torch.Generator("cuda"))


def test_wrong_arguments() -> None:
    x = torch.empty(3, device="cuda")
    for call, message in (
        (lambda: x.uniform_(2, 1), "found from=2 > to=1"),
        (lambda: x.normal_(0, -1), "normal expects std >= 0.0"),
        (lambda: x.bernoulli_(2.0), "bernoulli_ expects p to be in"),
        (lambda: x.geometric_(1.0), "geometric_ expects p to be in"),
        (lambda: x.exponential_(-1), "exponential_ expects lambda > 0.0"),
        (lambda: x.random_(3, 3), "random_ expects 'from' to be less than 'to'"),
        (lambda: x.long().normal_(), "not implemented for 'Long'"),
        (lambda: torch.randperm(300, dtype=torch.uint8, device="cuda"), "without overflow"),
        (lambda: torch.multinomial(-torch.ones(3, device="cuda"), 2), "element < 0"),
        (lambda: torch.multinomial(-torch.ones(3, device="cuda"), 2, True), "entry < 0"),
        (lambda: torch.multinomial(x.fill_(0), 2, True), "sum of probabilities <= 0"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(message)):
            call()
    assert torch.cuda.default_generators[0].get_offset() % 4 == 0


def test_nothing_is_drawn_for_nothing() -> None:
    torch.cuda.manual_seed_all(1)
    empty = torch.empty(0, 3, device="cuda")
    for draw in (empty.normal_, empty.uniform_, empty.exponential_, empty.bernoulli_):
        draw()
    torch.randperm(0, device="cuda")
    torch.nn.functional.dropout(torch.ones(4, device="cuda"), training=False)
    assert torch.cuda.default_generators[0].get_offset() == 0
