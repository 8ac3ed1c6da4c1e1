"""Offsets and states of generators, and numbers drawn in attention, layers and graphs."""

import torch
from recorder.registry import question
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def offset():
    return torch.cuda.default_generators[0].get_offset()


@question()
def offsets_after_draws():
    """How far each call moves the offset."""
    torch.cuda.manual_seed(1)
    calls = {
        "rand 1": lambda: torch.rand(1, device="cuda"),
        "rand 0": lambda: torch.rand(0, device="cuda"),
        "rand 10 million": lambda: torch.rand(10_000_000, device="cuda"),
        "randn double": lambda: torch.randn(1000, device="cuda", dtype=torch.double),
        "randint": lambda: torch.randint(9, (3,), device="cuda"),
        "randint large": lambda: torch.randint(1 << 40, (3,), device="cuda"),
        "randperm 10": lambda: torch.randperm(10, device="cuda"),
        "randperm 100000": lambda: torch.randperm(100_000, device="cuda"),
        "multinomial": lambda: torch.multinomial(torch.ones(9, device="cuda"), 3),
        "dropout": lambda: F.dropout(torch.ones(1000, device="cuda")),
        "dropout of nothing": lambda: F.dropout(torch.ones(0, device="cuda")),
        "dropout at 0": lambda: F.dropout(torch.ones(9, device="cuda"), 0.0),
        "dropout at 1": lambda: F.dropout(torch.ones(9, device="cuda"), 1.0),
        "bernoulli": lambda: torch.ones(9, device="cuda").bernoulli(),
        "poisson": lambda: torch.poisson(torch.ones(9, device="cuda")),
        "binomial": lambda: torch.binomial(*torch.ones(2, 9, device="cuda")),
        "gamma": lambda: torch._standard_gamma(torch.ones(9, device="cuda")),
        "rrelu": lambda: F.rrelu(torch.ones(9, device="cuda"), training=True),
        "not contiguous": lambda: torch.empty(8, 8, device="cuda").t()[::2].normal_(),
        "lstm dropout": lambda: nn.LSTM(4, 4, 2, dropout=0.5, device="cuda")(
            torch.ones(3, 4, device="cuda")
        ),
        "fractional pool": lambda: F.fractional_max_pool2d(
            torch.ones(1, 1, 8, 8, device="cuda"), 2, output_size=3
        ),
        "gumbel_softmax": lambda: F.gumbel_softmax(torch.ones(9, device="cuda")),
        "orthogonal_": lambda: nn.init.orthogonal_(torch.empty(3, 3, device="cuda")),
        "trunc_normal_": lambda: nn.init.trunc_normal_(torch.empty(3, 3, device="cuda")),
    }
    told = {}
    for name, call in calls.items():
        call()
        told[name] = offset()
    return told


@question()
def layers_that_are_initialised():
    torch.cuda.manual_seed(7)
    told = {}
    for layer in (
        nn.Linear(5, 3, device="cuda"),
        nn.Conv2d(2, 3, 3, device="cuda"),
        nn.LSTM(3, 2, device="cuda"),
        nn.MultiheadAttention(4, 2, device="cuda"),
    ):
        for name, parameter in layer.named_parameters():
            told[f"{type(layer).__name__}.{name}"] = parameter
    return told


@question(tolerance=1e-5)
def embedding_that_is_initialised():
    torch.cuda.manual_seed(7)
    return nn.Embedding(10, 6, device="cuda").weight


def attention(backend, dtype):
    q = torch.ones(2, 2, 64, 32, device="cuda", dtype=dtype)
    torch.cuda.manual_seed(3)
    with sdpa_kernel(backend):
        value = F.scaled_dot_product_attention(q, q, q, dropout_p=0.4)
    return {"drawn": value, "offset": offset()}


for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
                SDPBackend.CUDNN_ATTENTION):  # fmt: skip
    question(f"dropout in {backend.name}", tolerance=8e-3)(
        lambda backend=backend: attention(backend, torch.half)
    )


@question()
def state_goes_back():
    torch.cuda.manual_seed(3)
    torch.rand(5, device="cuda")
    state = torch.cuda.get_rng_state()
    first = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    return [state, first, torch.rand(5, device="cuda")]


@question()
def own_generators():
    generator = torch.Generator("cuda").manual_seed(11)
    told = [torch.rand(5, device="cuda", generator=generator), generator.get_state()]
    told.append(torch.randperm(20, device="cuda", generator=generator))
    generator.set_offset(4000)
    return [*told, torch.randint(99, (5,), device="cuda", generator=generator)]


@question(alone=True)
def graphs_draw_anew():
    torch.cuda.manual_seed(5)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x = torch.rand(5, device="cuda")
    told = [offset()]
    for _ in range(3):
        graph.replay()
        torch.cuda.synchronize()
        told += [x.clone(), offset()]
    return told


@question()
def distributions():
    torch.cuda.manual_seed(9)
    d = torch.distributions
    one, half = torch.ones(3, device="cuda"), torch.full((3,), 0.5, device="cuda")
    return {
        "Uniform": d.Uniform(one * 0, one).sample(),
        "Categorical": d.Categorical(one).sample((20,)),
        "Bernoulli": d.Bernoulli(half).sample((5,)),
        "Geometric": d.Geometric(half).sample(),
    }


@question(devices=2)
def second_device():
    torch.cuda.manual_seed_all(3)
    return [torch.rand(4, device=f"cuda:{index}").cpu() for index in range(2)]
